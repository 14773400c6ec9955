import { bootstrapTokenId } from '../../../activities/azure/launch/bootstrap-token.ts'
import { azureIds } from '../../../deploy/local/cluster.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { maintained } from '../../observed/maintenance-passes.ts'
import { isTrue, type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, keepsTime, test } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  // Nodes join late, so that what a launch leaves behind can be looked at before registration tidies up.
  await world.timing({ bootMs: 3000 })
  world.startJoiner('joiner', { JOINER_BILLING_EXTENSION: 'true' })
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
  await world.untilReady('general')
})

afterAll(() => world?.stop())

type Counts = Readonly<Record<string, number>>

/** Asks for one more node, and returns its NodeClaim once it is launched. */
async function launched(running: number) {
  const before = new Set((await world.list('nodeclaims')).map(({ metadata }) => metadata.name))
  await world.scale('inflate', running)
  return world.until('a launched NodeClaim', async () =>
    (await world.list('nodeclaims')).find(
      ({ metadata, status }) =>
        !before.has(metadata.name) &&
        status?.conditions?.some(({ type, status: value }) => type === 'Launched' && value === 'True'),
    ),
  )
}

const tokenPath = (claimUid: string) =>
  `/api/v1/namespaces/kube-system/secrets/bootstrap-token-${bootstrapTokenId(claimUid)}`

async function callsOf(claimName: string): Promise<Counts> {
  const byVm = await world.operator.simulator<Readonly<Record<string, Counts>>>('GET', '/calls/vms')
  return byVm[`aks-${claimName}`] ?? {}
}

/** Lets one more node be launched, and returns what Azure was asked for about its VM until it joined, and the tokens that it had before. */
async function launchOne(running: number): Promise<{ readonly ofVm: Counts; readonly tokens: number }> {
  const claim = await launched(running)
  const { items } = await world.operator.api<{ items: readonly unknown[] }>(
    'GET',
    `/api/v1/namespaces/kube-system/secrets?labelSelector=joiner.sh/nodeclaim-uid=${claim.metadata.uid}`,
  )
  await world.untilRunning(running)
  return { ofVm: await callsOf(claim.metadata.name), tokens: items.length }
}

const puts = (counts: Counts) => counts['PUT virtualMachines']
const gets = (counts: Counts) => counts['GET virtualMachines']
const balancerLists = async () => (await world.operator.simulator<Counts>('GET', '/calls'))['GET loadBalancers']

test('a launch looks once and PUTs once; the network is listed once for all of them', async () => {
  const { ofVm, tokens } = await launchOne(1)
  expect([gets(ofVm), puts(ofVm), tokens]).toEqual([1, 1, 1])
  await launchOne(2)
  expect(await balancerLists()).toBe(1)
})

test('the conditions of NodeClaim, NodePool and AKSNodeClass are events, each once, with the reasons that Karpenter gives them', async () => {
  const transitions = async (kind: string) =>
    (await world.list('events'))
      .filter(({ involvedObject, message }) => involvedObject?.kind === kind && message?.includes('Unknown -> True'))
      .map(({ reason = '' }) => reason)
      .sort()
  await world.until('both nodes are reported', async () => (await transitions('NodeClaim')).length >= 8)
  const both = ['Initialized', 'Launched', 'Ready', 'Registered'].flatMap((reason) => [reason, reason])
  expect(await transitions('NodeClaim')).toEqual(both)
  expect(await transitions('NodePool')).toEqual([
    'NodeClassReady',
    'NodeRegistrationHealthy',
    'Ready',
    'ValidationSucceeded',
  ])
  const ofClass = [
    'ImagesReady',
    'KubernetesVersionReady',
    'LocalDNSReady',
    'Ready',
    'SubnetsReady',
    'ValidationSucceeded',
  ]
  expect(await transitions('AKSNodeClass')).toEqual(ofClass)
})

test('a PUT whose answer is lost makes no second VM, and the try that adopts it mints and revokes no token', async () => {
  await world.fault({ kind: 'resetAfterCommit', count: 1 })
  const { ofVm, tokens } = await launchOne(3)
  expect([gets(ofVm), puts(ofVm), tokens]).toEqual([2, 1, 1])
  expect((await world.azure()).virtualMachines).toHaveLength(3)
})

test('attempts after refusals use the token of the first, and do not look for a VM that was refused', async () => {
  await world.fault({ kind: 'failSync', code: 'OverconstrainedZonalAllocationRequest', count: 3 })
  const { ofVm, tokens } = await launchOne(4)
  expect([gets(ofVm), puts(ofVm), tokens]).toEqual([1, 4, 1])
})

test('each node gets its billing extension once, by a sweep that a refusal only delays', async () => {
  await world.fault({ kind: 'failSync', operation: 'PUT extensions', code: 'OperationNotAllowed', count: 1 })
  const marked = async () =>
    (await world.list('nodeclaims')).filter(
      ({ metadata }) => metadata.annotations?.['joiner.sh/billing-extension'] === 'computeAksLinuxBilling',
    ).length
  await maintained(world)
  expect(await marked()).toBe(3)
  await maintained(world)
  expect(await marked()).toBe(4)
  await maintained(world)
  const calls = await world.operator.simulator<Counts>('GET', '/calls')
  expect(calls['PUT extensions']).toBe(5)
})

test('a backend pool that is gone is looked up again, within the same attempt', async () => {
  const pool = `/subscriptions/${azureIds.subscriptionId}/resourceGroups/${azureIds.nodeResourceGroup}/providers/Microsoft.Network/loadBalancers/kubernetes/backendAddressPools/kubernetes`
  await world.fault({
    kind: 'failSync',
    code: 'InvalidResourceReference',
    status: 400,
    message: `Resource ${pool} referenced by resource nic was not found.`,
    count: 1,
  })
  const lists = await balancerLists()
  const { ofVm } = await launchOne(5)
  expect([gets(ofVm), puts(ofVm)]).toEqual([1, 2])
  expect(await balancerLists()).toBe((lists ?? 0) + 1)
})

test('while Azure throttles, one request asks at each announced time, and the nodes come a launch after the last of them', async () => {
  const refusals = async () => (await world.operator.simulator<Counts>('GET', '/faults/hits'))['throttle'] ?? 0
  const begunMs = Date.now()
  await launchOne(6)
  const launchMs = Date.now() - begunMs
  // It is over at 25 s, which Azure announces for 30 s.
  const throttledMs = Date.now()
  await world.fault({ kind: 'throttle', retryAfterSeconds: 10, forMs: 25_000 })
  await world.scale('inflate', 9)
  await world.untilRunning(9)
  // Of each of the claims the first request, which goes before any is refused, then one at 10 s and one at 20 s; and as many of the tables that are read again.
  expect(await refusals()).toBeLessThanOrEqual(3 + 2 + 3)
  if (keepsTime) expect(Date.now() - throttledMs).toBeLessThan(30_000 + launchMs + 1000)
})

test('a VM that a dead process asked for goes when its bootstrap token is gone, and its pod waits for no registration limit', async () => {
  const before = new Set((await world.list('nodeclaims')).map(({ metadata }) => metadata.name))
  await world.fault({ kind: 'latency', ms: 5000, count: 1 })
  await world.scale('inflate', 10)
  const claim = await world.until('Azure has the PUT of a VM', async () => {
    const made = (await world.list('nodeclaims')).find(({ metadata }) => !before.has(metadata.name))
    return made !== undefined && puts(await callsOf(made.metadata.name)) === 1 && made
  })
  await world.crash()
  const vms = async () =>
    (await world.azure()).virtualMachines.filter(({ name }) => name === `aks-${claim.metadata.name}`)
  await world.until('the VM is there', async () => (await vms()).length === 1)
  await world.operator.api('DELETE', tokenPath(claim.metadata.uid))
  // The deletion fails at first, and the next try must not take the VM for its own.
  await world.fault({
    kind: 'failSync',
    operation: 'DELETE virtualMachines',
    code: 'InternalServerError',
    status: 500,
    count: 1,
  })
  world.startJoiner('joiner', { JOINER_BILLING_EXTENSION: 'true' })
  await world.untilRunning(10)
  expect(puts(await callsOf(claim.metadata.name))).toBe(2)
})

test('a node that the late write of an earlier try calls not launched is called launched again, and keeps its VM', async () => {
  const [{ metadata, status } = expect.unreachable('no NodeClaim')] = await world.list('nodeclaims')
  const before = puts(await callsOf(metadata.name))
  const conditions = status?.conditions?.map((one) => (one.type === 'Launched' ? { ...one, status: 'Unknown' } : one))
  const path = `/apis/karpenter.sh/v1/nodeclaims/${metadata.name}/status`
  await world.operator.api('PATCH', path, { status: { conditions } })
  const isLaunched = (claim: Seen) => claim.metadata.name === metadata.name && isTrue(claim, 'Launched')
  // The next look at what is not as it should be.
  await world.until('it is launched', async () => (await world.list('nodeclaims')).some(isLaunched), 6 * 60_000)
  expect(puts(await callsOf(metadata.name))).toBe(before)
})

test('a launched VM whose bootstrap token is lost makes room for another one long before the registration limit', async () => {
  const claim = await launched(11)
  // A try that stood still may replace it at any time.
  await world.operator.api('DELETE', tokenPath(claim.metadata.uid))
  await world.untilRunning(11, 4 * 60_000)
  expect(puts(await callsOf(claim.metadata.name))).toBe(2)
  expect((await world.list('nodeclaims')).map(({ metadata }) => metadata.name)).toContain(claim.metadata.name)
})
