import { describe, expect, test } from 'vitest'
import { type DrainTold, nothingTold } from '../../../core/node-claim/drain-waits.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { kubernetesDeps } from '../../../test/fakes/deps.ts'
import {
  at,
  attachmentJson,
  budgetJson,
  claimJson,
  condition,
  daemonJson,
  goingClaim,
  mirrorJson,
  nodeJson,
  podJson,
} from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import { ApiError, type Json } from '../client/client.ts'
import { drain } from './drain.ts'

useFakeTime()

const ref = { name: 'a', uid: 'uid-a' }
const criticalPod = { priorityClassName: 'system-cluster-critical' }
const guarded = { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }
/** A claim whose pods have all gone by then, so many seconds from its deletion. */
const graced = (seconds: number) => goingClaim('a', { spec: { terminationGracePeriod: `${seconds}s` } })
/** Tainted long ago: no pod binds late. */
const tainted = { conditions: [condition('Launched'), condition('Drained', 'Unknown', -60)] }

interface Given {
  readonly claim?: Json
  readonly nodes?: readonly Json[]
  readonly pods?: readonly Json[]
  readonly budgets?: readonly Json[]
  readonly attachments?: readonly Json[]
  readonly told?: DrainTold | undefined
}

function world({ claim = goingClaim('a'), nodes = [nodeJson('a')], pods = [], budgets = [], attachments = [] }: Given) {
  const cluster = new FakeCluster()
  cluster.put('nodeclaims', claim)
  for (const node of nodes) cluster.put('nodes', node)
  for (const pod of pods) cluster.put('pods', pod)
  for (const budget of budgets) cluster.put('poddisruptionbudgets', budget)
  for (const attachment of attachments) cluster.put('volumeattachments', attachment)
  const { deps, told, registry, logged } = kubernetesDeps(cluster)
  const stop = new AbortController()
  return {
    cluster,
    deps,
    told,
    registry,
    logged,
    stop,
    drain: (knows?: DrainTold) => drain(deps, ref, knows, stop.signal),
    conditions: () => conditionsOf(cluster),
    taints: (node = 'aks-a') => (cluster.object('nodes', node)?.spec.taints ?? []).map(({ key }) => key),
  }
}

/** Conditions of the claim about its drain, as `TYPE=STATUS`. */
function conditionsOf(cluster: FakeCluster): readonly string[] {
  return (cluster.object('nodeclaims', 'a')?.status.conditions ?? [])
    .filter(({ type }) => ['Drained', 'VolumesDetached'].includes(type))
    .map(({ type, status: is }) => `${type}=${is}`)
}

const metadataOf = (cluster: FakeCluster) => cluster.object('nodeclaims', 'a')?.metadata

describe('what is not to be drained is not touched', () => {
  test('a claim that nobody has deleted, whoever scheduled the step', async () => {
    const { cluster, drain } = world({ claim: claimJson('a'), pods: [podJson('web', 'a')] })
    const before = cluster.snapshot()
    await expect(drain()).rejects.toThrow('NodeClaim a: metadata.deletionTimestamp is not set')
    expect(cluster.snapshot()).toEqual(before)
  })

  test.each<[string, Given]>([
    ['a claim that is gone, though another has its name', { claim: goingClaim('a', { metadata: { uid: 'other' } }) }],
    ['a claim without a Node', { nodes: [] }],
    [
      'the Node of an AKS pool with the provider id of the claim',
      { nodes: [nodeJson('a', { metadata: { ownerReferences: [], labels: {} } })] },
    ],
    [
      'the Node of another claim with the name of the VM',
      {
        nodes: [
          nodeJson('a', {
            metadata: {
              ownerReferences: [{ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'a', uid: 'earlier' }],
            },
          }),
        ],
      },
    ],
  ])('%s', async (_, given) => {
    const { cluster, drain } = world({ ...given, pods: [podJson('web', 'a')] })
    const before = cluster.snapshot()
    expect(await drain()).toEqual({ kind: 'noNode' })
    expect(cluster.snapshot()).toEqual(before)
  })

  test('a Node that the watch has not told of is found by a read, and drained', async () => {
    const { cluster, drain, deps } = world({ nodes: [], claim: goingClaim('a', { status: tainted }) })
    cluster.lag()
    cluster.put('nodes', nodeJson('a'))
    cluster.put('pods', podJson('web', 'a'))
    expect(deps.cache.nodes.size).toBe(0)
    const work = drain()
    await pass(0)
    cluster.catchUp()
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 1 })
  })
})

describe('a drain', () => {
  test('taints the Node, takes it out of load balancers and asks for its deletion before the first eviction', async () => {
    const { cluster, drain } = world({ pods: [podJson('web', 'a')] })
    const seen: unknown[] = []
    cluster.intercept(({ verb }) => {
      if (verb !== 'evict') return
      const node = cluster.object('nodes', 'aks-a')
      seen.push([
        node?.spec.taints,
        node?.metadata.deletionTimestamp !== undefined,
        node?.metadata.labels['node.kubernetes.io/exclude-from-external-load-balancers'],
      ])
    })
    await ended(drain())
    expect(seen).toEqual([[[{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }], true, 'karpenter']])
  })

  test('leaves the Node, held by its finalizer, and mirror pods and those that tolerate it; nothing else', async () => {
    const tolerant = podJson('tolerant', 'a', { spec: { tolerations: [{ operator: 'Exists' }] } })
    const { cluster, drain, conditions, told } = world({
      pods: [
        podJson('web', 'a'),
        daemonJson('logs', 'a'),
        mirrorJson('proxy', 'a'),
        tolerant,
        podJson('elsewhere', 'b'),
      ],
    })
    expect(await ended(drain())).toEqual({ kind: 'drained', pods: 2 })
    expect(cluster.names('pods')).toEqual(['elsewhere', 'proxy', 'tolerant'])
    expect(cluster.names('nodes')).toEqual(['aks-a'])
    expect(conditions()).toEqual(['Drained=True', 'VolumesDetached=True'])
    expect(told.filter(({ reason }) => reason === 'Evicted').map(({ about }) => about)).toEqual(['Pod/web', 'Pod/logs'])
  })

  test('evicts tier by tier: no pod of a later tier is asked for while one of an earlier tier is there', async () => {
    const { cluster, drain } = world({
      pods: [
        daemonJson('critical-daemon', 'a', { spec: criticalPod }),
        podJson('critical', 'a', { spec: criticalPod }),
        daemonJson('daemon', 'a'),
        podJson('web', 'a'),
      ],
    })
    const left: (readonly string[])[] = []
    cluster.intercept(({ verb, path }) => {
      if (verb === 'evict') left.push([path.split('/').at(-1) as string, ...cluster.names('pods')])
    })
    await ended(drain())
    expect(left).toEqual([
      ['web', 'critical', 'critical-daemon', 'daemon', 'web'],
      ['daemon', 'critical', 'critical-daemon', 'daemon'],
      ['critical', 'critical', 'critical-daemon'],
      ['critical-daemon', 'critical-daemon'],
    ])
  })

  test('gives the reason of its disruption to the events about its pods', async () => {
    const conditions = [condition('DisruptionReason', 'True', 0, 'Drifted')]
    const { drain, told } = world({ claim: goingClaim('a', { status: { conditions } }), pods: [podJson('web', 'a')] })
    await ended(drain())
    expect(told.find(({ reason }) => reason === 'Evicted')?.message).toBe('Evicted pod: Drifted')
  })

  test('waits 5 s from the taint for a pod that the scheduler bound at the last moment, and evicts it', async () => {
    const { cluster, drain, conditions } = world({})
    const work = drain()
    await pass(4800)
    expect(conditions()).toEqual(['Drained=Unknown'])
    cluster.put('pods', podJson('late', 'a'))
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 1 })
    expect(cluster.names('pods')).toEqual([])
  })

  test.each<[string, Json, Json, number]>([
    ['a Node that no command had tainted', {}, { conditions: [condition('DisruptionReason', 'True', -60)] }, 5000],
    [
      'a Node that a command tainted long ago',
      { spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] } },
      { conditions: [condition('DisruptionReason', 'True', -60)] },
      0,
    ],
    ['a drain that began earlier', {}, tainted, 0],
  ])('%s is watched for late pods accordingly', async (_, node, status, ms) => {
    const { drain } = world({ nodes: [nodeJson('a', node)], claim: goingClaim('a', { status }) })
    const startedAt = Date.now()
    await ended(drain())
    expect(Date.now() - startedAt).toBeLessThanOrEqual(ms + 250)
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(ms)
  })

  test('does not take a cache that lags for an empty node', async () => {
    const { cluster, drain } = world({ claim: goingClaim('a', { status: tainted }) })
    cluster.lag()
    cluster.put('pods', podJson('unheard-of', 'a'))
    const work = drain()
    await pass(0)
    cluster.catchUp()
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 1 })
  })

  test('of a claim with several Nodes empties all of them', async () => {
    const second = nodeJson('a', { metadata: { name: 'second', uid: 'uid-second' } })
    const { cluster, drain, taints } = world({
      nodes: [nodeJson('a'), second],
      pods: [podJson('one', 'a'), podJson('two', 'a', { spec: { nodeName: 'second' } })],
    })
    expect(await ended(drain())).toEqual({ kind: 'drained', pods: 2 })
    expect(cluster.names('pods')).toEqual([])
    expect(taints('second')).toEqual(['karpenter.sh/disrupted'])
  })

  test('that runs again after a crash goes on and evicts no pod twice', async () => {
    const pods = [podJson('web', 'a'), podJson('api', 'a')]
    const { cluster, drain, stop } = world({ pods })
    cluster.podsTakeMs = 20_000
    const first = drain().catch((error: unknown) => error)
    await pass(100)
    stop.abort(new Error('cancelled'))
    expect(await first).toEqual(new Error('cancelled'))
    const again = kubernetesDeps(cluster)
    await ended(drain2(again.deps))
    const evicted = cluster.attempts.filter((attempt) => attempt.startsWith('evict'))
    expect(evicted.sort()).toEqual([
      'evict /api/v1/namespaces/default/pods/api',
      'evict /api/v1/namespaces/default/pods/web',
    ])
  })

  test('ends when somebody takes the finalizer off the Node', async () => {
    const { cluster, drain } = world({ pods: [podJson('guarded', 'a', { metadata: guarded })] })
    const work = drain()
    await pass(2000)
    cluster.remove('nodes', 'aks-a')
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 0 })
    expect(cluster.names('pods')).toEqual(['guarded'])
  })
})

const drain2 = (deps: Parameters<typeof drain>[0]) => drain(deps, ref, undefined, new AbortController().signal)

describe('a pod that does not go', () => {
  const held: [string, Given, RegExp][] = [
    [
      'by its PodDisruptionBudget',
      { pods: [podJson('web', 'a')], budgets: [budgetJson('web', 0)] },
      /evicting pod violates a PDB \(Pod=default\/web, PodDisruptionBudget=\[default\/web\]\)/,
    ],
    [
      'by two PodDisruptionBudgets',
      {
        pods: [podJson('web', 'a', { metadata: { labels: { app: 'web', tier: 'x' } } })],
        budgets: [
          budgetJson('web', 5),
          { ...budgetJson('web', 5), metadata: { name: 'second', namespace: 'default' } },
        ],
      },
      /eviction does not support multiple PDBs/,
    ],
    [
      'by do-not-disrupt',
      { pods: [podJson('web', 'a', { metadata: guarded })] },
      /has the annotation karpenter.sh\/do-not-disrupt/,
    ],
  ]

  test.each(held)('%s holds the node, and the claim and an event say so', async (_, given, text) => {
    const { cluster, drain, conditions, told, stop } = world(given)
    const work = drain().catch(() => {})
    await pass(120_000)
    stop.abort()
    await work
    expect(cluster.names('pods')).toEqual(['web'])
    expect(conditions()).toEqual(['Drained=Unknown'])
    const said = told.filter(({ reason }) => reason === 'FailedDraining')
    expect(said.map(({ about }) => about)).toContain('Node/aks-a')
    expect(said[0]?.message).toMatch(text)
  })

  test.each(held)('%s is reported to a lifecycle that listens, after 10 s', async (_, given, text) => {
    const { drain } = world(given)
    const startedAt = Date.now()
    const outcome = await ended(drain(nothingTold))
    expect(outcome).toMatchObject({ kind: 'waiting', waits: { more: 0 } })
    expect(JSON.stringify(outcome)).toMatch(text)
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(10_000)
    expect(Date.now() - startedAt).toBeLessThan(13_000)
  })

  test('keeps no other pod from going', async () => {
    const { cluster, drain, stop } = world({
      pods: [podJson('web', 'a'), podJson('free', 'a'), podJson('guarded', 'a', { metadata: guarded })],
      budgets: [budgetJson('web', 0)],
    })
    const work = drain().catch(() => {})
    await pass(5000)
    stop.abort()
    await work
    expect(cluster.names('pods')).toEqual(['guarded', 'web'])
  })

  test('goes as soon as its budget allows it, not only after the wait between two tries', async () => {
    const { cluster, drain } = world({ pods: [podJson('web', 'a')], budgets: [budgetJson('web', 0)] })
    const work = drain()
    await pass(60_000)
    cluster.edit('poddisruptionbudgets', 'web', { status: { disruptionsAllowed: 1 } }, 'default')
    await pass(300)
    expect(cluster.attempts.filter((attempt) => attempt.startsWith('evict')).length).toBeGreaterThan(1)
    expect(cluster.object('pods', 'web', 'default')?.metadata.deletionTimestamp).toBeDefined()
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 1 })
  })

  test('is not taken for gone when the API server fails, and the failure is reported', async () => {
    const { cluster, drain, told } = world({ pods: [podJson('web', 'a')] })
    const end = cluster.intercept(({ verb }) => {
      if (verb === 'evict') throw new ApiError(500, 'InternalError', 'etcd is away')
    })
    const work = drain()
    await pass(30_000)
    expect(cluster.names('pods')).toEqual(['web'])
    expect(told.find(({ reason }) => reason === 'FailedDraining')?.message).toContain('etcd is away')
    end()
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 1 })
  })

  test('since its kubelet is silent is not waited for a minute after its time is over', async () => {
    const stuck = podJson('stuck', 'a', { metadata: { deletionTimestamp: at(-61) } })
    const { cluster, drain } = world({ pods: [stuck], claim: goingClaim('a', { status: tainted }) })
    expect(await ended(drain())).toEqual({ kind: 'drained', pods: 0 })
    expect(cluster.names('pods')).toEqual(['stuck'])
  })
})

describe('a claim with a terminationGracePeriod', () => {
  test('has the end of its drain in an annotation, told once, and the end stays', async () => {
    const { cluster, drain, told } = world({ claim: graced(100), pods: [podJson('web', 'a')] })
    await pass(20_000)
    await ended(drain())
    expect(metadataOf(cluster)?.annotations['karpenter.sh/nodeclaim-termination-timestamp']).toBe(
      '2026-01-01T00:01:40Z',
    )
    expect(told.filter(({ reason }) => reason === 'TerminationGracePeriodExpiring').map(({ about }) => about)).toEqual([
      'NodeClaim/a',
      'Node/aks-a',
    ])
    const second = kubernetesDeps(cluster)
    await ended(drain2(second.deps))
    expect(second.told.filter(({ about }) => about === 'NodeClaim/a')).toEqual([])
  })

  test('keeps an end that is stamped already, whatever the spec says', async () => {
    const stamp = { annotations: { 'karpenter.sh/nodeclaim-termination-timestamp': at(7) } }
    const claim = goingClaim('a', { metadata: stamp, spec: { terminationGracePeriod: '1h' } })
    const { cluster, drain } = world({ claim, pods: [podJson('guarded', 'a', { metadata: guarded })] })
    const startedAt = Date.now()
    expect(await ended(drain())).toEqual({ kind: 'drained', pods: 1 })
    expect(Date.now() - startedAt).toBeLessThan(10_000)
    expect(cluster.names('pods')).toEqual([])
  })

  test.each<[string, Given]>([
    ['a budget', { pods: [podJson('web', 'a')], budgets: [budgetJson('web', 0)] }],
    ['do-not-disrupt', { pods: [podJson('web', 'a', { metadata: guarded })] }],
  ])('deletes by force what %s holds, so that the pod still has its grace', async (_, given) => {
    const { cluster, drain, told } = world({ ...given, claim: graced(100) })
    cluster.podsTakeMs = 25_000
    const work = drain()
    await pass(69_000)
    expect(cluster.object('pods', 'web', 'default')?.metadata.deletionTimestamp).toBeUndefined()
    await pass(3000)
    expect(cluster.object('pods', 'web', 'default')?.metadata.deletionTimestamp).toBeDefined()
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 1 })
    expect(Date.now()).toBeLessThanOrEqual(Date.parse(at(100)))
    expect(told.find(({ reason }) => reason === 'Disrupted')?.about).toBe('Pod/web')
  })

  test('without one a pod that nobody may evict stays for ever', async () => {
    const { cluster, drain, stop } = world({ pods: [podJson('web', 'a', { metadata: guarded })] })
    const work = drain().catch(() => {})
    await pass(3_600_000)
    stop.abort()
    await work
    expect(cluster.names('pods')).toEqual(['web'])
  })

  test('waits for volumes until its end and not longer, and says that they were not detached', async () => {
    const { drain, conditions } = world({ claim: graced(60), attachments: [attachmentJson('disk', 'a')] })
    expect(await ended(drain(), 90_000)).toEqual({ kind: 'drained', pods: 0 })
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(at(60)))
    expect(conditions()).toEqual(['Drained=True', 'VolumesDetached=False'])
  })
})

describe('volumes', () => {
  test('that are attached keep the VM until they are detached', async () => {
    const { cluster, drain, conditions, told } = world({ attachments: [attachmentJson('disk', 'a', 'pv-1')] })
    const work = drain()
    await pass(20_000)
    expect(conditions()).toEqual(['Drained=True', 'VolumesDetached=Unknown'])
    expect(told.find(({ reason }) => reason === 'AwaitingVolumeDetachment')?.message).toContain('PersistentVolume pv-1')
    cluster.remove('volumeattachments', 'disk')
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 0 })
    expect(conditions()).toEqual(['Drained=True', 'VolumesDetached=True'])
  })

  test.each<[string, Json, readonly Json[], boolean]>([
    ['of another node', attachmentJson('disk', 'b'), [], false],
    [
      'that names no persistent volume',
      { ...attachmentJson('disk', 'a'), spec: { nodeName: 'aks-a', source: {} } },
      [],
      false,
    ],
    ['of a pod that stays on the node', attachmentJson('disk', 'a', 'pv-stays'), [stayingPod()], false],
    ['of a pod that leaves', attachmentJson('disk', 'a', 'pv-other'), [stayingPod()], true],
  ])('%s', async (_, attachment, pods, isAwaited) => {
    const { cluster, drain, conditions, stop } = world({ attachments: [attachment], pods })
    cluster.put('persistentvolumeclaims', {
      metadata: { name: 'data', namespace: 'default' },
      spec: { volumeName: 'pv-stays' },
    })
    const work = drain().catch(() => {})
    await pass(60_000)
    stop.abort()
    await work
    expect(conditions()).toEqual(['Drained=True', `VolumesDetached=${isAwaited ? 'Unknown' : 'True'}`])
  })

  function stayingPod(): Json {
    return podJson('stays', 'a', {
      spec: {
        tolerations: [{ operator: 'Exists' }],
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }],
      },
    })
  }

  test('of a claim that cannot be read are not taken for detached', async () => {
    const { cluster, drain } = world({ attachments: [attachmentJson('disk', 'a')], pods: [stayingPod()] })
    cluster.intercept(({ path }) => {
      if (path.includes('persistentvolumeclaims')) throw new ApiError(503, 'ServiceUnavailable', 'away')
    })
    await expect(ended(drain())).rejects.toThrow('away')
  })
})

describe('a Node that is not ready', () => {
  const silent = [nodeJson('a', { status: { conditions: [condition('Ready', 'Unknown')] } })]

  test('is left untouched until the lifecycle has looked whether its VM exists', async () => {
    const { cluster, drain, taints } = world({ nodes: silent, pods: [podJson('web', 'a')] })
    expect(await drain(nothingTold)).toEqual({ kind: 'notReady' })
    expect(taints()).toEqual([])
    expect(cluster.names('pods')).toEqual(['web'])
  })

  test.each([
    ['1', 1, 10_000],
    ['3', 3, 40_000],
  ])('after %s looks is drained, and the next look is due later', async (_, vmLooks, dueMs) => {
    const { drain } = world({ nodes: silent, pods: [podJson('web', 'a', { metadata: guarded })] })
    const reports = 100
    const startedAt = Date.now()
    expect(await ended(drain({ ...nothingTold, vmLooks, reports }))).toEqual({ kind: 'notReady' })
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(dueMs)
    expect(Date.now() - startedAt).toBeLessThan(dueMs + 2000)
  })

  test('is drained like any other for a lifecycle that does not listen', async () => {
    const { drain } = world({ nodes: silent, pods: [podJson('web', 'a')] })
    expect(await ended(drain())).toEqual({ kind: 'drained', pods: 1 })
  })
})

describe('an interrupted node', () => {
  const rules = { interruptions: [{ type: 'VMEventScheduled', status: 'True' as const }], repairs: [] }
  const ending = (seconds: number) => [
    condition('Ready'),
    { ...condition('VMEventScheduled'), message: `Preempt not before ${at(seconds)}` },
  ]

  test('whose end is announced while it drains gives its pods no more than that, budgets or not', async () => {
    const { cluster, deps, stop } = world({ pods: [podJson('web', 'a', { metadata: guarded })] })
    cluster.podsTakeMs = 1000
    const work = drain({ ...deps, nodeRules: rules }, ref, undefined, stop.signal)
    await pass(60_000)
    expect(cluster.names('pods')).toEqual(['web'])
    cluster.edit('nodes', 'aks-a', { status: { conditions: ending(90) } })
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 1 })
    expect(Date.now()).toBeLessThanOrEqual(Date.parse(at(91)))
    expect(metadataOf(cluster)?.annotations['karpenter.sh/nodeclaim-termination-timestamp']).toBe(
      '2026-01-01T00:01:30Z',
    )
  })

  test('ends its drain when the VM ends, though its kubelet has not said that the pods are gone', async () => {
    const { cluster, deps, stop } = world({
      nodes: [nodeJson('a', { status: { conditions: ending(20) } })],
      pods: [podJson('web', 'a')],
    })
    cluster.podsTakeMs = Number.POSITIVE_INFINITY
    const work = drain({ ...deps, nodeRules: rules }, ref, undefined, stop.signal)
    expect(await ended(work, 40_000)).toEqual({ kind: 'drained', pods: 1 })
    expect(Date.now()).toBeLessThan(Date.parse(at(23)))
    expect(cluster.names('pods')).toEqual(['web'])
  })
})
