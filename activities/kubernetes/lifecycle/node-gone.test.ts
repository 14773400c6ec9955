import { expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps, metricLines } from '../../../test/fakes/deps.ts'
import { at, claimJson, condition, nodeJson, poolJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../client/answers.ts'
import { ApiError } from '../client/api-error.ts'
import { awaitRegistration } from './joining.ts'
import { observe } from './observe.ts'
import { reportStranger } from './strangers.ts'

useFakeTime()

/** NodeClaims whose Nodes are there. */
function world(names: readonly string[] = ['a']) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson())
  for (const name of names) {
    cluster.put('nodeclaims', claimJson(name))
    cluster.put('nodes', nodeJson(name))
  }
  const known = kubernetesDeps(cluster)
  const look = async (name = 'a') => (await ended(observe(known.deps, { name, uid: `uid-${name}` }))).step
  return {
    cluster,
    ...known,
    look,
    going: () =>
      cluster
        .all('nodeclaims')
        .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
        .map(({ metadata }) => metadata.name),
    conditionOf: (type: string, name = 'a') =>
      cluster.object('nodeclaims', name)?.status.conditions?.find((each) => each.type === type),
    messages: (reason: string) => known.reported.filter((event) => event.reason === reason),
  }
}

const twoMinutes = 120_000
const steadyUntil = (seconds: number) => ({ kind: 'steady', wakeAtMs: Date.parse(at(seconds)) })

test('a claim whose Node is gone says so at once, and ends after two minutes', async () => {
  const { cluster, look, going, conditionOf, messages, registry } = world()
  cluster.remove('nodes', 'aks-a')
  expect(await look()).toMatchObject(steadyUntil(120))
  expect(conditionOf('Ready')).toMatchObject({ status: 'Unknown', reason: 'NodeGone' })
  await pass(twoMinutes - 1000)
  expect(await look()).toMatchObject(steadyUntil(120))
  expect(going()).toEqual([])
  await pass(1000)
  expect(await look()).toEqual({ kind: 'terminate' })
  expect(going()).toEqual(['a'])
  expect(messages('NodeGone').at(-1)?.message).toContain('No drain was possible')
  expect(await metricLines(registry, 'karpenter_nodeclaims_disrupted_total{reason="node_gone"')).toHaveLength(1)
})

test('a Node that only this process’ cache misses is no gone one', async () => {
  const { cluster, look, conditionOf } = world()
  cluster.lag()
  cluster.remove('nodes', 'aks-a')
  cluster.catchUp()
  cluster.lag()
  cluster.put('nodes', nodeJson('a'))
  expect(await look()).toEqual({ kind: 'steady' })
  expect(conditionOf('NodeGone')).toBeUndefined()
})

test('a claim that was never registered waits for its registration limit', async () => {
  const { cluster, look } = world()
  const launched = { nodeName: undefined, conditions: [condition('Launched')] }
  cluster.put('nodeclaims', claimJson('a', { status: launched }))
  cluster.remove('nodes', 'aks-a')
  expect((await look()).kind).toBe('awaitRegistration')
})

test('a Node of the name with another uid is registered again, and ends nothing', async () => {
  const { cluster, deps, look, going, conditionOf } = world()
  cluster.remove('nodes', 'aks-a')
  await look()
  await pass(3_600_000)
  const taints = [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }]
  const labels = { 'kubernetes.io/hostname': 'aks-a' }
  const bare = { ownerReferences: undefined, finalizers: undefined, labels, uid: 'newer', creationTimestamp: at(3600) }
  cluster.put('nodes', nodeJson('a', { metadata: bare, spec: { taints }, status: { conditions: [] } }))
  expect((await look()).kind).toBe('awaitRegistration')
  expect(conditionOf('Ready')).toMatchObject({ reason: 'NodeGone' })
  const outcome = await ended(awaitRegistration(deps, { name: 'a', uid: 'uid-a' }, new AbortController().signal))
  expect(outcome).toMatchObject({ kind: 'registered', nodeName: 'aks-a' })
  expect(conditionOf('NodeGone')).toBeUndefined()
  expect([conditionOf('Registered')?.status, conditionOf('Initialized')?.status]).toEqual(['True', 'Unknown'])
  expect(cluster.object('nodes', 'aks-a')?.metadata).toMatchObject({
    annotations: { 'joiner.sh/node-uid': 'newer' },
    finalizers: ['karpenter.sh/termination'],
    ownerReferences: [{ uid: 'uid-a' }],
  })
  expect((await look()).kind).toBe('awaitInitialization')
  expect(going()).toEqual([])
})

test('a Node that joined again and is being deleted is not registered: it takes no finalizer any more', async () => {
  const { cluster, deps, look, going } = world()
  const leaving = { uid: 'newer', ownerReferences: undefined, finalizers: ['example.com/x'], deletionTimestamp: at(0) }
  const taints = [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }]
  cluster.put('nodes', nodeJson('a', { metadata: leaving, spec: { taints } }))
  const waiting = awaitRegistration(deps, { name: 'a', uid: 'uid-a' }, new AbortController().signal)
  expect(await ended(waiting)).toEqual({ kind: 'observeAgain' })
  expect(await look()).toEqual({ kind: 'terminate' })
  expect(going()).toEqual(['a'])
})

test.each<[string, (cluster: FakeCluster) => void]>([
  [
    'a Node of the name that is not the claim’s',
    (cluster) => cluster.put('nodes', nodeJson('a', { spec: { providerID: 'azure:///x' } })),
  ],
  [
    'a Node with the provider id and another name',
    (cluster) => {
      cluster.put('nodes', nodeJson('a', { metadata: { name: 'evil', uid: 'evil', ownerReferences: [] } }))
      cluster.put('nodes', nodeJson('a', { metadata: { labels: {}, ownerReferences: [] } }))
    },
  ],
  [
    'a Ready Node of another name with the VM’s provider id, where pods may run,',
    (cluster) => cluster.put('nodes', nodeJson('a', { metadata: { name: 'renamed', uid: 'x', ownerReferences: [] } })),
  ],
])('%s keeps the claim from its end, and is reported', async (_, change) => {
  const { cluster, look, going, messages } = world()
  cluster.remove('nodes', 'aks-a')
  change(cluster)
  await look()
  await pass(twoMinutes)
  expect(await look()).toMatchObject(steadyUntil(150))
  expect(going()).toEqual([])
  expect(messages('NodeGoneWithheld').map(({ about }) => about)).toEqual(['NodeClaim/a', 'NodePool/default'])
})

test('a claim whose VM is not its own is kept: its end would not end that VM', async () => {
  const { cluster, look, going, messages } = world()
  const message = 'status.providerID names another VM'
  cluster.edit('nodeclaims', 'a', {
    status: {
      conditions: [
        ...['Launched', 'Registered', 'Initialized'].map((type) => condition(type)),
        { ...condition('InstanceOwned', 'False'), message },
      ],
    },
  })
  cluster.remove('nodes', 'aks-a')
  await look()
  await pass(twoMinutes)
  expect(await look()).toMatchObject(steadyUntil(150))
  expect(going()).toEqual([])
  expect(messages('NodeGoneWithheld')[0]?.message).toContain(`the NodeClaim is kept: ${message}`)
})

test('a Node that stays in doubt is looked at ever more rarely: each look is in the history', async () => {
  const { cluster, look } = world()
  cluster.put('nodes', nodeJson('a', { spec: { providerID: 'azure:///x' } }))
  let looks = 0
  for (let hours = 24; hours > 0; ) {
    const step = await look()
    const untilMs = step.kind === 'steady' ? (step.wakeAtMs ?? 0) : 0
    hours -= (untilMs - Date.now()) / 3_600_000
    await pass(untilMs - Date.now())
    looks += 1
  }
  expect(looks).toBeLessThan(170)
})

test('an API server that does not say 404 ends nothing', async () => {
  const { cluster, look, going } = world()
  cluster.remove('nodes', 'aks-a')
  await look()
  await pass(twoMinutes)
  cluster.intercept(({ verb, path }) => {
    if (verb === 'get' && path.includes('/nodes/')) throw new ApiError(403, 'Forbidden', path)
  })
  await expect(look()).rejects.toThrow('/nodes/aks-a')
  expect(going()).toEqual([])
})

test('of ten Nodes that are gone two NodeClaims end in ten minutes, whichever process looks', async () => {
  const names = Array.from({ length: 10 }, (_, index) => `c${index}`)
  const { cluster, deps, look, going, messages } = world(names)
  for (const name of names) cluster.remove('nodes', `aks-${name}`)
  for (const name of names) await look(name)
  await pass(twoMinutes)
  for (const name of names.slice(0, 5)) await look(name)
  const restarted = { ...deps, cache: cluster.cacheOf() }
  for (const name of names.slice(5)) await ended(observe(restarted, { name, uid: `uid-${name}` }))
  expect(going()).toEqual(['c0', 'c1'])
  expect(messages('NodeGoneWithheld')[0]?.message).toContain('no more than 2 may')
  await pass(10 * 60_000)
  for (const name of names.slice(2)) await look(name)
  expect(going()).toHaveLength(3)
})

test.each<[string, Json, readonly string[]]>([
  ['the claim’s own Node', {}, []],
  [
    'a Node with its VM’s provider id',
    { metadata: { name: 'evil', uid: 'evil', ownerReferences: [] } },
    ['Node/evil', 'NodeClaim/a'],
  ],
  ['a Node of no claim’s VM', { metadata: { name: 'x', uid: 'x' }, spec: { providerID: 'azure:///x' } }, []],
])('%s is reported on: %j', (_, node, about) => {
  const { cluster, deps, messages } = world()
  cluster.put('nodes', nodeJson('a', node))
  const { name = 'aks-a' } = (node['metadata'] ?? {}) as { name?: string }
  reportStranger(deps, deps.cache.nodes.get(name) as never)
  expect(messages('ForeignProviderId').map((event) => event.about)).toEqual(about)
})
