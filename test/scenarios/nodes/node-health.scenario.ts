// Nodes that are sick, expire before they are ready, or have less than was promised; and what an older version left unlabelled.
import { timeText } from '../../../core/values/time.ts'
import { deployment, nodeClass, nodePool, standaloneClaim } from '../../applied-objects.ts'
import { endOf } from '../../observed/lifecycle-ends.ts'
import { maintained } from '../../observed/maintenance-passes.ts'
import { untilResyncs } from '../../observed/metrics.ts'
import { isTrue, type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

let world: World

/** How long pods of a sick node have to leave. */
const boundMs = 6000
const policies = [
  {
    conditionType: 'Broken',
    conditionStatus: 'True',
    tolerationDuration: '1s',
    terminationGracePeriod: `${boundMs / 1000}s`,
  },
  {
    conditionType: 'Hung',
    conditionStatus: 'True',
    reasonRegex: '^Kernel',
    tolerationDuration: '1s',
    action: 'RebootNode',
  },
]
const settings = {
  FEATURE_GATES: 'NodeRepair=true',
  JOINER_REPAIR_POLICIES: JSON.stringify(policies),
  JOINER_RESYNC_INTERVAL: '5s',
}

beforeAll(async () => {
  world = await World.start()
  world.startJoiner('joiner', settings)
  await world.apply(
    nodePool({ consolidateAfter: 'Never', budget: '1' }),
    nodeClass(),
    deployment({ replicas: 2, apart: true }),
  )
  await world.untilReady('general')
  await world.untilRunning(2)
})

afterAll(() => world?.stop())

const labelOf = (object: Seen | undefined, key: string) => object?.metadata.labels?.[key]
const nodesOfPool = async () =>
  (await world.list('nodes')).filter((node) => labelOf(node, 'karpenter.sh/nodepool') === 'general')

async function setCondition(node: string, type: string, status: 'True' | 'False', reason = 'Test'): Promise<void> {
  const time = timeText(Date.now())
  const condition = { type, status, reason, message: '', lastHeartbeatTime: time, lastTransitionTime: time }
  const patch = JSON.stringify({ status: { conditions: [condition] } })
  await world.operator.kubectl(['patch', 'node', node, '--subresource=status', '--type=strategic', '-p', patch])
}

async function metric(pattern: RegExp): Promise<number> {
  const [, value = 0] = Object.entries(await world.metrics()).find(([name]) => pattern.test(name)) ?? []
  return value
}

const pass = () => maintained(world)

test('a node that has less than was promised says so, and what has no label of its node class gets it', async () => {
  const [less, whole] = await world.list('nodeclaims')
  await world.operator.api('PATCH', `/apis/karpenter.sh/v1/nodeclaims/${less?.metadata.name}/status`, {
    status: { capacity: { cpu: '64' } },
  })
  const label = 'karpenter.azure.com/aksnodeclass'
  for (const kind of ['node', 'nodeclaim'])
    await world.operator.kubectl([
      'label',
      kind,
      `${kind === 'node' ? 'aks-' : ''}${whole?.metadata.name}`,
      `${label}-`,
    ])
  const condition = async (claim: Seen | undefined) => {
    const now = (await world.list('nodeclaims')).find(({ metadata }) => metadata.uid === claim?.metadata.uid)
    return now?.status?.conditions?.find(({ type }) => type === 'ConsistentStateFound')
  }
  await pass()
  expect(await condition(less)).toMatchObject({ status: 'False', reason: 'ConsistencyCheckFailed' })
  expect(await condition(whole)).toMatchObject({ status: 'True' })
  const event = await world.until('an event says what is missing', async () =>
    (await world.list('events')).find(({ reason }) => reason === 'FailedConsistencyCheck'),
  )
  expect(event.involvedObject?.name).toBe(less?.metadata.name)
  expect(event.message).toMatch(/^expected 64 of resource cpu, but found \d+ \(\d+\.\d% of expected\)$/)
  const labels = [...(await world.list('nodeclaims')), ...(await nodesOfPool())].map((each) => labelOf(each, label))
  expect(labels).toEqual(['default', 'default', 'default', 'default'])
})

test('a sick node is replaced within the bound of its policy, unless its owner forbids it; too many are left alone', async () => {
  const [one = '', other = ''] = (await nodesOfPool()).map(({ metadata }) => metadata.name)
  await world.apply({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'all', namespace: 'default' },
    spec: { minAvailable: 2, selector: { matchLabels: { app: 'inflate' } } },
  })
  await world.operator.kubectl(['annotate', 'node', one, 'karpenter.sh/do-not-repair=true'])
  await Promise.all([one, other].map((name) => setCondition(name, 'Broken', 'True')))
  const blocked = await world.until('events report that nothing is repaired', async () => {
    const found = await eventsOf('NodeRepairBlocked')
    return ['Node', 'NodeClaim', 'NodePool'].every((kind) => found.some((event) => kindOf(event) === kind)) && found
  })
  expect(new Set(blocked.map(({ message }) => message))).toEqual(
    new Set(['more than 20% of nodes in nodepool "general" are unhealthy']),
  )
  await setCondition(other, 'Broken', 'False')
  const veto = 'repair is blocked through the "karpenter.sh/do-not-repair" annotation'
  await world.until('an event reports that its owner forbids the repair', async () =>
    (await eventsOf('DisruptionBlocked')).some(({ message }) => message === veto),
  )
  expect((await nodesOfPool()).map(({ metadata }) => metadata.name)).toEqual([one, other])
  await world.operator.kubectl(['annotate', 'node', one, 'karpenter.sh/do-not-repair-'])
  const leaving = await world.until('the NodeClaim of the sick node is being deleted', async () => {
    const claim = (await world.list('nodeclaims')).find(({ metadata }) => one.endsWith(metadata.name))
    return claim?.metadata.deletionTimestamp === undefined ? undefined : claim
  })
  const [replacement] = (await world.list('nodeclaims')).filter(
    ({ metadata }) => metadata.annotations?.['joiner.sh/replacement-for'] !== undefined,
  )
  const deletedMs = Date.parse(leaving.metadata.deletionTimestamp ?? '')
  const ready = replacement?.status?.conditions?.find(({ type }) => type === 'Initialized')
  expect(ready?.status).toBe('True')
  expect(Date.parse(ready?.lastTransitionTime ?? '')).toBeLessThanOrEqual(deletedMs)
  const endMs = Date.parse(leaving.metadata.annotations?.['karpenter.sh/nodeclaim-termination-timestamp'] ?? '')
  expect(Math.abs(endMs - deletedMs - boundMs)).toBeLessThanOrEqual(2000)
  await world.until('the sick node is gone', async () =>
    (await nodesOfPool()).every(({ metadata }) => metadata.name !== one),
  )
  await world.untilRunning(2)
  const stays = (await nodesOfPool()).find(({ metadata }) => metadata.name === other)
  expect(stays).toBeDefined()
  expect(stays?.metadata.deletionTimestamp).toBeUndefined()
  expect(await eventsOf('TerminationGracePeriodExpiring')).toEqual([])
  const counter =
    /^karpenter_nodeclaims_unhealthy_disrupted_total\{condition="broken",nodepool="general",.*termination_mode="eventual"\}$/
  expect(await metric(counter)).toBe(1)
})

/** A kubelet may give a reason that no condition of a NodeClaim has room for. */
const longReason = `KernelHung${'x'.repeat(100_000)}`

/** Gives a Node a condition that is repaired by a reboot, and waits until the reboot of its VM has begun. */
async function beginReboot(node: string, reason = 'KernelHung'): Promise<void> {
  await setCondition(node, 'Hung', 'True', reason)
  await world.until(`the reboot of ${node} has begun`, async () => {
    const tainted = (await nodesOfPool()).find(({ metadata }) => metadata.name === node)
    return tainted?.spec.taints?.some(({ key }) => key === 'karpenter.sh/rebooting')
  })
  // A problem detector would report that after the boot.
  await setCondition(node, 'Hung', 'False')
}

async function untilRebooted(claim: string): Promise<Seen> {
  return world.until(`NodeClaim ${claim} has rebooted and is initialized`, async () => {
    const found = (await world.list('nodeclaims')).find(({ metadata }) => metadata.name === claim)
    const reason = found?.status?.conditions?.find(({ type }) => type === 'Rebooting')?.reason
    return reason === 'RebootSucceeded' && isTrue(found as Seen, 'Initialized') && found
  })
}

/** How often Azure was asked to restart a VM. */
const restarts = async () =>
  (await world.operator.simulator<Readonly<Record<string, number>>>('GET', '/calls'))['POST restart'] ?? 0
const bootIdOf = async (node: string) =>
  (await world.operator.api<{ status: { nodeInfo: { bootID: string } } }>('GET', `/api/v1/nodes/${node}`)).status
    .nodeInfo.bootID

test('a hold during its drain calls a reboot off: the Node is given back, and the VM does not restart', async () => {
  await world.operator.kubectl(['delete', 'poddisruptionbudget', 'all'])
  const [node = ''] = (await nodesOfPool()).map(({ metadata }) => metadata.name)
  const name = node.replace('aks-', '')
  await beginReboot(node)
  await world.operator.kubectl(['annotate', 'nodeclaim', name, 'joiner.sh/hold-until=released'])
  const claim = await world.until('the reboot is called off', async () => {
    const found = (await world.list('nodeclaims')).find(({ metadata }) => metadata.name === name)
    return found?.status?.conditions?.some(({ reason }) => reason === 'RebootCalledOff') && found
  })
  await world.operator.kubectl(['annotate', 'nodeclaim', name, 'joiner.sh/hold-until-'])
  await untilResyncs(world, 2)
  await world.untilRunning(2)
  expect((await nodesOfPool()).find(({ metadata }) => metadata.name === node)?.spec.taints ?? []).toEqual([])
  expect(isTrue(claim, 'Initialized')).toBe(true)
  expect(await restarts()).toBe(0)
})

test('a hung node is drained and rebooted: pods go and come back, and NodeClaim and VM stay', async () => {
  const [node = ''] = (await nodesOfPool()).map(({ metadata }) => metadata.name)
  const name = node.replace('aks-', '')
  const before = {
    claims: (await world.list('nodeclaims')).map(({ metadata }) => metadata.uid),
    vms: (await world.azure()).virtualMachines.map((vm) => vm.name),
    pods: (await world.list('pods')).filter(({ spec }) => spec.nodeName === node).map(({ metadata }) => metadata.uid),
    bootId: await bootIdOf(node),
  }
  await beginReboot(node)
  const claim = await untilRebooted(name)
  await world.untilRunning(2)
  expect(claim.metadata.deletionTimestamp).toBeUndefined()
  expect((await world.list('nodeclaims')).map(({ metadata }) => metadata.uid)).toEqual(before.claims)
  expect((await world.azure()).virtualMachines.map((vm) => vm.name)).toEqual(before.vms)
  const pods = (await world.list('pods')).filter(({ spec }) => spec.nodeName === node)
  expect(pods).toHaveLength(before.pods.length)
  for (const { metadata } of pods) expect(before.pods).not.toContain(metadata.uid)
  expect(await bootIdOf(node)).not.toBe(before.bootId)
  const back = (await nodesOfPool()).find(({ metadata }) => metadata.name === node)
  expect(back?.spec.taints ?? []).toEqual([])
  expect(labelOf(back, 'karpenter.sh/initialized')).toBe('true')
  expect(Object.keys(claim.metadata.annotations ?? {}).filter((key) => key.includes('reboot'))).toEqual([
    'joiner.sh/reboots',
  ])
  expect(await eventsOf('RebootObserved')).toHaveLength(1)
  expect(await restarts()).toBe(1)
  expect(await metric(/^karpenter_nodes_reboots_total\{result="succeeded"\}$/)).toBe(1)
})

test('of a Joiner that is killed during a reboot the next one goes on, and the VM restarts once', async () => {
  const before = await restarts()
  await world.timing({ updateMs: 6000 })
  const [node = ''] = (await nodesOfPool()).map(({ metadata }) => metadata.name).toReversed()
  await beginReboot(node, longReason)
  await world.until('Azure restarts the VM', async () => (await restarts()) > before)
  await world.crash()
  world.startJoiner('joiner', settings)
  const claim = await untilRebooted(node.replace('aks-', ''))
  await world.untilRunning(2)
  expect(claim.metadata.deletionTimestamp).toBeUndefined()
  expect(await restarts()).toBe(before + 1)
})

const eventsOf = async (reason: string) => (await world.list('events')).filter((event) => event.reason === reason)
const kindOf = (event: Seen) => event.involvedObject?.kind

test('a NodeClaim made by hand, without a NodePool, lives until it expires, though it never gets ready', async () => {
  await world.apply(
    standaloneClaim('by-hand', {
      requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D2s_v5'] }],
      startupTaints: [{ key: 'never-taken-off', effect: 'NoSchedule' }],
      expireAfter: '25s',
    }),
  )
  const claim = async () => (await world.list('nodeclaims')).find(({ metadata }) => metadata.name === 'by-hand')
  const waits = await world.until('its Node has joined and is not ready', async () => {
    const conditions = (await claim())?.status?.conditions ?? []
    return conditions.find(({ type, reason }) => type === 'Initialized' && reason === 'StartupTaintsExist')
  })
  expect(waits.message).toContain('never-taken-off')
  const { metadata } = (await claim()) as Seen
  expect(metadata.finalizers).toEqual(['karpenter.sh/termination'])
  await world.until('it has expired, and nothing of it is left', async () => {
    const { virtualMachines, networkInterfaces, disks } = await world.azure()
    const names = [...virtualMachines.map(({ name }) => name), ...networkInterfaces, ...disks]
    return (await claim()) === undefined && names.every((name) => !name.includes('by-hand'))
  })
  expect(Date.now() - Date.parse(metadata.creationTimestamp)).toBeGreaterThan(25_000)
  expect((await world.list('nodes')).map((node) => node.metadata.name)).not.toContain('aks-by-hand')
  expect(await endOf(world, 'by-hand')).toMatchObject({
    status: 'FAILED',
    type: 'GaveUp',
    outcome: 'gave-up',
    reason: expect.stringMatching(/^expired at 20/),
  })
})

test('as of Karpenter 1.14 a lifecycle itself ends its sick node; what failed before is left alone', async () => {
  await world.crash()
  world.startJoiner('joiner', { ...settings, LEGACY_NODE_REPAIR: 'true' })
  const [node = ''] = (await nodesOfPool()).map(({ metadata }) => metadata.name)
  await setCondition(node, 'Broken', 'True')
  await world.until('the sick node is gone', async () =>
    (await nodesOfPool()).every(({ metadata }) => metadata.name !== node),
  )
  await world.untilRunning(2)
  expect(await endOf(world, node.replace('aks-', ''))).toMatchObject({
    status: 'COMPLETED',
    outcome: 'repaired',
    reason: 'repaired: Broken is True',
  })
  await untilResyncs(world, 2)
  expect(await world.lifecycles("ExecutionStatus = 'Failed'")).toHaveLength(1)
  expect((await world.lifecycles()).filter(({ nodeClaim }) => nodeClaim === 'by-hand')).toHaveLength(1)
})
