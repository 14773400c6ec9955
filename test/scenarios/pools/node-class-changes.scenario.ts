import { azureIds } from '../../../deploy/local/cluster.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { type Seen, World } from '../../world.ts'
import { afterAll, beforeAll, expect, test } from '../scenario.ts'

const name = 'changing'
const classPath = `/apis/karpenter.azure.com/v1beta1/aksnodeclasses/${name}`
const hash = 'karpenter.azure.com/in-place-update-hash'
const tagNames = 'joiner.sh/tag-names'
const configMaps = '/api/v1/namespaces/joiner/configmaps'
const window = 'upcoming-maintenance-window'

interface Tags {
  readonly [key: string]: string
}

interface State {
  readonly virtualMachines: readonly {
    readonly name: string
    readonly tags: Tags
    readonly identities: readonly string[]
  }[]
}

type Nics = Readonly<Record<string, { readonly tags: Tags }>>

interface ClassStatus {
  readonly images?: readonly { readonly id: string }[]
}

let world: World
let claim: string

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  await world.apply(
    { ...nodeClass(name), spec: { tags: { team: 'a', 'cost/center': '1' } } },
    nodePool({ name, nodeClass: name, consolidateAfter: 'Never', budget: '0' }),
  )
  await world.untilReady(name)
  await world.apply(deployment({ name, replicas: 1, nodeSelector: { 'karpenter.sh/nodepool': name } }))
  await world.until('the pod runs', async () => (await world.running(name)) === 1)
  claim = (await world.list('nodeclaims'))[0]?.metadata.name ?? ''
  await world.until(
    'the claim is registered',
    async () => conditionOf(await theClaim(), 'Registered')?.status === 'True',
  )
})

afterAll(() => world?.stop())

async function theClaim(): Promise<Seen> {
  const found = (await world.list('nodeclaims')).find(({ metadata }) => metadata.name === claim)
  if (found === undefined) throw new Error(`no claim ${claim}`)
  return found
}

function conditionOf(object: Seen, type: string) {
  return object.status?.conditions?.find((condition) => condition.type === type)
}

/** Tags of the VM and of its NIC. */
async function tags(): Promise<readonly Tags[]> {
  const state = await world.operator.simulator<State>('GET', '/state')
  const vm = state.virtualMachines.find((found) => found.name === `aks-${claim}`)
  const all = await world.operator.simulator<Nics>('GET', '/nics')
  const nics = Object.entries(all).filter(([nic]) => nic.startsWith(`aks-${claim}`))
  expect(nics).toHaveLength(1)
  return [vm?.tags ?? {}, ...nics.map(([, found]) => found.tags)]
}

async function patches(): Promise<readonly (number | undefined)[]> {
  const calls = await world.operator.simulator<Record<string, number>>('GET', '/calls')
  return [calls['PATCH virtualMachines'], calls['PATCH networkInterfaces']]
}

function setTags(wanted: Readonly<Record<string, string | null>>): Promise<unknown> {
  return world.operator.api('PATCH', classPath, { spec: { tags: wanted } })
}

/** Waits until the claim says that its VM is as it should be with other tags than before. */
async function untilStamped(before: Seen): Promise<Seen> {
  return world.until('the hash of the claim follows', async () => {
    const now = await theClaim()
    return now.metadata.annotations?.[hash] !== before.metadata.annotations?.[hash] && now
  })
}

/** Publishes images of a day, which is after that of those there are: a community gallery's newest image has the latest date. */
function publish(day: string): Promise<unknown> {
  const publishedDate = `${day.replace(/^(....)(..)/, '$1-$2').replace('.', '-')}T00:00:00Z`
  return world.operator.simulator('POST', '/images', { version: `${day}.0`, publishedDate })
}

/** Runs the pass over node classes at once, and lets it look at the galleries. */
async function evaluateAgain(): Promise<void> {
  await world.operator.kubectl(['-n', 'joiner', 'delete', 'configmap', 'joiner-image-versions', '--ignore-not-found'])
  await world.maintain()
}

async function images(): Promise<readonly string[]> {
  const { status } = await world.operator.api<{ status?: ClassStatus }>('GET', classPath)
  return status?.images?.map(({ id }) => id) ?? []
}

async function classCondition(type: string) {
  const found = (await world.list('aksnodeclasses')).find(({ metadata }) => metadata.name === name)
  return found && conditionOf(found, type)
}

test('tags of a class that change reach VM and NIC, and leave those of others alone', async () => {
  const before = await theClaim()
  expect(JSON.parse(before.metadata.annotations?.[tagNames] ?? '')).toContain('cost_center')
  await world.operator.simulator('POST', `/vms/aks-${claim}/tags`, { policy: 'theirs' })
  await setTags({ team: 'b', 'cost/center': null, stage: 'test' })
  const after = await untilStamped(before)
  for (const found of await tags()) {
    expect(found).toMatchObject({ team: 'b', stage: 'test', policy: 'theirs' })
    expect(found).not.toHaveProperty('cost_center')
    expect(found['joiner.sh_nodeclaim-uid']).toBe(after.metadata.uid)
    expect(found['karpenter.azure.com_cluster']).toBe('local')
    expect(found['karpenter.sh_nodepool']).toBe(name)
  }
  expect(JSON.parse(after.metadata.annotations?.[tagNames] ?? '')).not.toContain('cost_center')
  expect(await patches()).toEqual([1, 1])
})

test('an update that a crash cut off is found again, and what was done is not done twice', async () => {
  const before = await theClaim()
  await world.fault({ kind: 'latency', operation: 'PATCH virtualMachines', ms: 4000, count: 1 })
  await setTags({ team: 'c' })
  await world.until('the NIC has the new tag', async () => (await tags())[1]?.['team'] === 'c')
  await world.crash()
  expect((await theClaim()).metadata.annotations?.[hash]).toBe(before.metadata.annotations?.[hash])
  world.startJoiner()
  await untilStamped(before)
  for (const found of await tags()) expect(found).toMatchObject({ team: 'c', policy: 'theirs' })
  expect((await patches())[1]).toBe(2)
})

test('a refusal is reported on the claim and tried again', async () => {
  const before = await theClaim()
  const message = 'it is out of order'
  await world.fault({
    kind: 'failSync',
    operation: 'PATCH virtualMachines',
    status: 500,
    code: 'InternalExecutionError',
    message,
    count: 2,
  })
  await setTags({ team: 'd' })
  await untilStamped(before)
  const reported = (await world.list('events')).find(({ reason }) => reason === 'InPlaceUpdateFailed')
  expect(reported?.message).toContain('InternalExecutionError')
  expect((await tags())[0]?.['team']).toBe('d')
})

test('a newly published image is taken, and nodes of the one before say that they have drifted', async () => {
  expect(conditionOf(await theClaim(), 'Drifted')).toBeUndefined()
  await publish('202611.15')
  await evaluateAgain()
  const drifted = await world.until('the claim has drifted', async () => conditionOf(await theClaim(), 'Drifted'))
  expect(drifted).toMatchObject({ status: 'True', reason: 'ImageDrift' })
  expect((await images()).every((id) => id.endsWith('/202611.15.0'))).toBe(true)
})

test('outside of the maintenance window images stay, and the class says that newer ones wait', async () => {
  const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
  const entries = (from: number, to: number) => ({
    'aksManagedNodeOSUpgradeSchedule-start': at(from),
    'aksManagedNodeOSUpgradeSchedule-end': at(to),
  })
  const metadata = { name: window, namespace: 'joiner' }
  await world.operator.api('POST', configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: entries(1, 2) })
  await publish('202611.16')
  await evaluateAgain()
  await world.until('the class says that images wait', async () =>
    (await classCondition('ImagesReady'))?.message.includes('newer images wait for the maintenance window'),
  )
  expect((await images()).every((id) => id.endsWith('/202611.15.0'))).toBe(true)
  await world.operator.api('PATCH', `${configMaps}/${window}`, { data: entries(-1, 1) })
  await world.maintain()
  await world.until('new images', async () => (await images()).every((id) => id.endsWith('/202611.16.0')))
  await world.operator.api('DELETE', `${configMaps}/${window}`)
})

test('a process with shared galleries makes nodes with FIPS; an identity that is configured is added to those that exist', async () => {
  const identity = `/subscriptions/${azureIds.subscriptionId}/resourceGroups/mine/providers/Microsoft.ManagedIdentity/userAssignedIdentities/nodes`
  const before = await theClaim()
  await world.cluster.supervisor.stop('joiner')
  world.startJoiner('joiner', {
    NODE_IDENTITIES: identity,
    JOINER_BILLING_EXTENSION: 'true',
    USE_SIG: 'true',
    SIG_SUBSCRIPTION_ID: '109a5e88-712a-48ae-9078-9ca8b3c81345',
    SIG_ACCESS_TOKEN_SERVER_URL: `${world.cluster.azureEndpoint}/gallery-token`,
  })
  const pool = 'fips'
  await world.apply(
    { ...nodeClass(pool), spec: { imageFamily: 'AzureLinux', fipsMode: 'FIPS' } },
    nodePool({ name: pool, nodeClass: pool, consolidateAfter: 'Never', budget: '0' }),
    deployment({ name: pool, replicas: 1, nodeSelector: { 'karpenter.sh/nodepool': pool } }),
  )
  await world.until('the pod with FIPS runs', async () => (await world.running(pool)) === 1)
  const made = (await world.list('nodeclaims')).find(
    ({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === pool,
  )
  expect((made?.status as { imageID?: string } | undefined)?.imageID).toMatch(
    /\/galleries\/AKSAzureLinux\/images\/V3\w*fips\/versions\/202611\.16\.0$/,
  )
  await world.until('the identity is added', async () => {
    const { virtualMachines } = await world.operator.simulator<State>('GET', '/state')
    return virtualMachines.find((vm) => vm.name === `aks-${claim}`)?.identities.includes(identity)
  })
  // It was made without the billing extension: that there is none to change is no failure.
  await world.until('the claim says so', async () => {
    const { metadata } = await theClaim()
    return metadata.annotations?.[hash] !== before.metadata.annotations?.[hash]
  })
  const calls = await world.operator.simulator<Record<string, number>>('GET', '/calls')
  expect(calls['PATCH extensions']).toBeGreaterThanOrEqual(1)
})
