import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps, metricLines } from '../../../test/fakes/deps.ts'
import { at, claimJson, condition, nodeJson, podJson, poolJson } from '../../../test/fakes/objects.ts'
import { ended, pass, tellAhead, useFakeTime } from '../../../test/fakes/time.ts'
import { samplePolicy } from '../../../test/samples/sample-objects.ts'
import type { Json } from '../client/answers.ts'
import { ServerTime } from '../client/server-time.ts'
import { giveUp, observe, withFinalizer } from './observe.ts'

useFakeTime()

const ref = { name: 'a', uid: 'uid-a' }
const rules = {
  interruptions: [{ type: 'VMEventScheduled', status: 'True' as const }],
  repairs: [samplePolicy('Ready', 'False', { tolerationMs: 60_000 })],
}
const waiting = (...types: readonly string[]) => ({
  status: { nodeName: undefined, providerID: undefined, conditions: types.map((type) => condition(type)) },
})
/** The Node of the claim's VM, before its registration. */
const sick = { status: { conditions: [condition('Ready', 'False')] } }
const joinedNode = nodeJson('a', { metadata: { ownerReferences: [] } })
const hold = (expiry: boolean) => ({
  'joiner.sh/hold-until': 'released',
  ...(expiry ? { 'joiner.sh/hold-expiry': 'true' } : {}),
})

function world(claim: Json = claimJson('a'), node: Json = nodeJson('a')) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson())
  cluster.put('nodeclaims', claim)
  cluster.put('nodes', node)
  const known = kubernetesDeps(cluster)
  const serverTime = new ServerTime({ log: known.deps.log })
  const deps = { ...known.deps, nodeRules: rules, serverTime }
  return {
    cluster,
    ...known,
    deps,
    serverTime,
    observe: () => ended(observe(deps, ref)),
    isGoing: () => cluster.object('nodeclaims', 'a')?.metadata.deletionTimestamp !== undefined,
  }
}

describe('the next step of a lifecycle', () => {
  test('is found without a request once the cache knows that the claim is being deleted', async () => {
    const { cluster, observe } = world(claimJson('a', { metadata: { deletionTimestamp: at(0) } }))
    const requests: string[] = []
    cluster.intercept(({ verb, path }) => void requests.push(`${verb} ${path}`))
    expect((await observe()).step).toEqual({ kind: 'terminate' })
    expect(requests).toEqual([])
  })

  test.each<[string, Json, string]>([
    ['a new claim is launched', claimJson('a', waiting()), 'launch'],
    ['a launched claim waits for its Node', claimJson('a', waiting('Launched')), 'awaitRegistration'],
    [
      'a registered claim waits until its Node is ready',
      claimJson('a', { status: { conditions: ['Launched', 'Registered'].map((type) => condition(type)) } }),
      'awaitInitialization',
    ],
    ['an initialized claim rests', claimJson('a'), 'steady'],
    ['a claim that is being deleted ends', claimJson('a', { metadata: { deletionTimestamp: at(0) } }), 'terminate'],
    ['a claim that is another by now is over', claimJson('a', { metadata: { uid: 'newer' } }), 'finished'],
    ['a claim that is gone is over', claimJson('b'), 'finished'],
  ])('%s', async (_, claim, kind) => {
    expect((await world(claim).observe()).step.kind).toBe(kind)
  })

  test('comes with the VM that the claim has, for a lifecycle that lost it', async () => {
    const priced = claimJson('a', {
      ...waiting('Launched'),
      metadata: { annotations: { 'joiner.sh/price-per-hour': '0.1' } },
    })
    expect((await world(priced).observe()).vm).toEqual({
      instanceType: 'Standard_D4s_v5',
      zone: 'westus2-1',
      capacityType: 'on-demand',
      pricePerHour: 0.1,
      fromMs: Date.parse(at(0)),
    })
    expect((await world(claimJson('a', waiting())).observe()).vm).toBeUndefined()
  })

  test('a claim that was made by hand gets its finalizer first', async () => {
    const { cluster, observe } = world(claimJson('a', { ...waiting(), metadata: { finalizers: ['example.com/x'] } }))
    await observe()
    expect(cluster.object('nodeclaims', 'a')?.metadata.finalizers).toEqual([
      'example.com/x',
      'karpenter.sh/termination',
    ])
  })

  test('a claim that is being deleted gets no finalizer any more: Kubernetes accepts none', async () => {
    const { deps, cluster } = world(claimJson('a', { metadata: { finalizers: ['example.com/x'] } }))
    const seen = deps.cache.nodeClaims.get('a')
    cluster.lag()
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(0) } })
    const after = await withFinalizer(deps, seen as never)
    expect(after?.metadata.finalizers).toEqual(['example.com/x'])
  })

  test('a claim whose Node is being deleted is deleted with it', async () => {
    const { observe, isGoing } = world(claimJson('a'), nodeJson('a', { metadata: { deletionTimestamp: at(0) } }))
    expect((await observe()).step).toEqual({ kind: 'terminate' })
    expect(isGoing()).toBe(true)
  })

  test.each<[string, Json]>([
    ['of an AKS pool', { labels: {}, ownerReferences: [], deletionTimestamp: at(0) }],
    [
      'of an earlier claim',
      {
        ownerReferences: [{ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'a', uid: 'earlier' }],
        deletionTimestamp: at(0),
      },
    ],
  ])('a Node %s that is being deleted ends no claim', async (_, metadata) => {
    const { observe, isGoing } = world(claimJson('a'), nodeJson('a', { metadata }))
    await observe()
    expect(isGoing()).toBe(false)
  })
})

describe('while the clock of the process is wrong', () => {
  test.each<[string, Json, Json]>([
    ['expires', claimJson('a', { spec: { expireAfter: '1h' } }), nodeJson('a')],
    ['is sick', claimJson('a'), nodeJson('a', sick)],
  ])('no node that %s ends; when it is right again it does', async (_, claim, node) => {
    const { observe, isGoing, serverTime } = world(claim, node)
    await pass(3_600_000)
    tellAhead(serverTime, 31 * 86_400_000)
    expect((await observe()).step).toMatchObject({ kind: 'steady', wakeAtMs: Date.now() + 300_000 })
    expect(isGoing()).toBe(false)
    tellAhead(serverTime, 0)
    expect((await observe()).step).toEqual({ kind: 'terminate' })
    expect(isGoing()).toBe(true)
  })
})

describe('a claim at the end of its time', () => {
  const old = (annotations: Json = {}) => claimJson('a', { metadata: { annotations }, spec: { expireAfter: '1h' } })

  test('is deleted once it has expired and not before, and is counted', async () => {
    const { observe, isGoing, registry } = world(old())
    await pass(3_599_000)
    expect((await observe()).step).toEqual({ kind: 'steady', wakeAtMs: Date.parse(at(3600)), wakeFor: 'expiry' })
    expect(isGoing()).toBe(false)
    await pass(1000)
    expect((await observe()).step).toEqual({ kind: 'terminate' })
    expect(isGoing()).toBe(true)
    expect(await metricLines(registry, 'karpenter_nodeclaims_disrupted_total{reason="expired"')).toHaveLength(1)
  })

  test.each([
    [false, true],
    [true, false],
  ])('that is held (its expiry as well: %s) goes: %s', async (expiry, goes) => {
    const { observe, isGoing } = world(old(hold(expiry)))
    await pass(2 * 3_600_000)
    await observe()
    expect(isGoing()).toBe(goes)
  })
})

describe('a Node that ends its claim', () => {
  test('with its VM: by the condition that the API server has now', async () => {
    const ending = nodeJson('a', { status: { conditions: [condition('Ready'), condition('VMEventScheduled')] } })
    const { cluster, observe, isGoing } = world(claimJson('a'), ending)
    expect((await observe()).step).toEqual({ kind: 'terminate' })
    expect(isGoing()).toBe(true)
    expect(cluster.object('nodeclaims', 'a')?.metadata.annotations).toMatchObject({
      'joiner.sh/interrupted': 'VMEventScheduled',
      'karpenter.sh/nodeclaim-termination-timestamp': '2026-01-01T00:00:30Z',
    })
  })

  test('is not deleted for a condition that is over, of which only the cache does not know', async () => {
    const ending = nodeJson('a', { status: { conditions: [condition('Ready'), condition('VMEventScheduled')] } })
    const { cluster, observe, isGoing } = world(claimJson('a'), ending)
    cluster.lag()
    cluster.edit('nodes', 'aks-a', { status: { conditions: [condition('Ready')] } })
    expect((await observe()).step.kind).toBe('steady')
    expect(isGoing()).toBe(false)
  })

  test('is repaired after the time that is tolerated, by a deletion without a grace period for pods', async () => {
    const { cluster, observe, isGoing } = world(claimJson('a'), nodeJson('a', sick))
    for (const name of ['b', 'c', 'd', 'e']) cluster.put('nodes', nodeJson(name))
    await pass(59_000)
    await observe()
    expect(isGoing()).toBe(false)
    await pass(1000)
    expect((await observe()).step).toEqual({ kind: 'terminate' })
    expect(isGoing()).toBe(true)
    expect(
      cluster.object('nodeclaims', 'a')?.metadata.annotations['karpenter.sh/nodeclaim-termination-timestamp'],
    ).toBe('2026-01-01T00:01:00Z')
  })

  test('upstream: should ignore node disruption budgets', async () => {
    const { cluster, observe, isGoing } = world(claimJson('a'), nodeJson('a', sick))
    const none = { disruption: { budgets: [{ nodes: '0' }, { nodes: '0', reasons: ['Unhealthy'] }] } }
    cluster.put('nodepools', poolJson('default', { spec: none }))
    await pass(60_000)
    expect((await observe()).step).toEqual({ kind: 'terminate' })
    expect(isGoing()).toBe(true)
  })

  test.each([
    ['three of ten', 3, 'steady'],
    ['two of ten', 2, 'terminate'],
  ])(
    'upstream: should ignore unhealthy nodes if more than 20 percent of the nodes are unhealthy in a cluster, for a NodeClaim without a NodePool: %s',
    async (_, count, step) => {
      const alone = { metadata: { labels: { 'karpenter.sh/capacity-type': 'on-demand' } } }
      const { cluster, observe, isGoing, reported } = world(claimJson('a', alone), nodeJson('a', { ...alone, ...sick }))
      // The others are of pools, or of none.
      for (let at = 1; at < 10; at += 1)
        cluster.put('nodes', nodeJson(`n${at}`, { ...(at % 2 === 0 ? alone : {}), ...(at < count ? sick : {}) }))
      await pass(60_000)
      expect((await observe()).step.kind).toBe(step)
      expect(isGoing()).toBe(step === 'terminate')
      const blocked = reported.filter(({ reason }) => reason === 'NodeRepairBlocked')
      expect(blocked.map(({ message }) => message)).toEqual(
        step === 'terminate' ? [] : Array(2).fill('more than 20% nodes are unhealthy in the cluster'),
      )
    },
  )

  test('is not repaired while more than a fifth of its pool is sick, whatever pool a kubelet names', async () => {
    const { cluster, observe, isGoing, reported } = world(claimJson('a'), nodeJson('a', sick))
    for (const name of ['b', 'c', 'd', 'e']) cluster.put('nodes', nodeJson(name, name === 'b' ? sick : {}))
    cluster.put('nodeclaims', claimJson('b'))
    cluster.edit('nodes', 'aks-b', { metadata: { labels: { 'karpenter.sh/nodepool': 'other' } } })
    await pass(60_000)
    expect((await observe()).step.kind).toBe('steady')
    expect(isGoing()).toBe(false)
    expect(reported.map(({ reason }) => reason)).toContain('NodeRepairBlocked')
  })
})

describe('giving a claim up', () => {
  test.each([
    ['insufficient_capacity', 'InsufficientCapacityError'],
    ['nodeclass_not_ready', 'NodeClassNotReady'],
    ['invalid_nodeclaim', 'InvalidNodeClaim'],
    ['launch_timeout', 'LaunchTimeout'],
    ['registration_timeout', 'RegistrationTimeout'],
  ] as const)('for %s deletes it, and the event is %s', async (reason, event) => {
    const launched = reason === 'registration_timeout' ? ['Launched'] : []
    const { deps, isGoing, reported, registry } = world(claimJson('a', waiting(...launched)), nodeJson('b'))
    expect(await giveUp(deps, { claim: ref, reason, message: 'no room' })).toEqual({ kind: 'ended' })
    expect(isGoing()).toBe(true)
    expect(reported.map(({ reason: why, message }) => [why, message])).toEqual([[event, 'NodeClaim a event: no room']])
    expect(await metricLines(registry, `karpenter_nodeclaims_disrupted_total{reason="${reason}"`)).toHaveLength(1)
  })

  test('for lack of capacity says so in the condition too, where the planner finds it for the pods', async () => {
    const { cluster, deps } = world(claimJson('a', waiting()))
    await giveUp(deps, { claim: ref, reason: 'insufficient_capacity', message: 'no room' })
    expect(cluster.object('nodeclaims', 'a')?.status.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Launched',
        status: 'Unknown',
        reason: 'InsufficientCapacityError',
        message: 'no room',
      }),
    )
  })

  test('is refused once its Node has joined, whoever asks', async () => {
    const { cluster, deps, isGoing } = world(claimJson('a', waiting('Launched')))
    cluster.lag()
    cluster.edit('nodeclaims', 'a', { status: { conditions: [condition('Launched'), condition('Registered')] } })
    expect(await giveUp(deps, { claim: ref, reason: 'registration_timeout', message: 'late' })).toEqual({
      kind: 'kept',
    })
    expect(isGoing()).toBe(false)
  })

  test.each<[string, Json, Json]>([
    ['its launch is recorded', claimJson('a', waiting('Launched')), nodeJson('b')],
    ['its Node has joined, though no launch is recorded', claimJson('a', waiting()), joinedNode],
  ])('for want of a VM is refused while %s', async (_, claim, node) => {
    const { deps, isGoing, reported } = world(claim, node)
    expect(await giveUp(deps, { claim: ref, reason: 'launch_timeout', message: 'x' })).toEqual({ kind: 'kept' })
    expect(isGoing()).toBe(false)
    expect(reported).toEqual([])
  })

  test('is not refused for a Node that only has the name', async () => {
    const { deps, isGoing } = world(
      claimJson('a', waiting()),
      nodeJson('a', { spec: { providerID: 'azure:///other' } }),
    )
    await giveUp(deps, { claim: ref, reason: 'launch_timeout', message: 'x' })
    expect(isGoing()).toBe(true)
  })

  test.each<[string, Json]>([
    ['that takes its provider id and names it as its owner', { name: 'rogue' }],
    ['that only the cache has', { ownerReferences: [] }],
  ])('after a lost VM is not refused for a Node %s', async (_, metadata) => {
    const relaunching = claimJson('a', {
      status: { nodeName: undefined, conditions: [condition('Launched', 'Unknown')] },
    })
    const { cluster, deps, isGoing } = world(relaunching, nodeJson('a', { metadata }))
    if (metadata['name'] === undefined) {
      cluster.lag()
      cluster.remove('nodes', 'aks-a')
    }
    expect(await giveUp(deps, { claim: ref, reason: 'launch_timeout', message: 'x' })).toEqual({ kind: 'ended' })
    expect(isGoing()).toBe(true)
  })

  test.each<[string, Json]>([
    ['gone', claimJson('b')],
    ['another by now', claimJson('a', { metadata: { uid: 'newer' } })],
  ])('is done for a claim that is %s, and touches nothing', async (_, claim) => {
    const { cluster, deps } = world(claim)
    const before = cluster.snapshot()
    expect(await giveUp(deps, { claim: ref, reason: 'launch_timeout', message: 'x' })).toEqual({ kind: 'ended' })
    expect(cluster.snapshot()).toEqual(before)
  })

  test('counts once a claim that is going already', async () => {
    const { deps, registry } = world(claimJson('a', { ...waiting('Launched'), metadata: { deletionTimestamp: at(0) } }))
    await giveUp(deps, { claim: ref, reason: 'launch_timeout', message: 'x' })
    expect(await metricLines(registry, 'karpenter_nodeclaims_disrupted_total{')).toEqual([])
  })

  test('counts the pods that lose their place', async () => {
    const { cluster, deps, registry } = world(claimJson('a', { spec: { expireAfter: '1h' } }))
    cluster.put('pods', podJson('web', 'a'))
    await pass(3_600_000)
    await observe(deps, ref)
    expect(await metricLines(registry, 'karpenter_pods_disruption_initiated_total{')).toEqual([
      expect.stringMatching(/\} 1$/),
    ])
  })
})
