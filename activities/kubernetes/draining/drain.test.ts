import { describe, expect, test } from 'vitest'
import { kubernetesDeps } from '../../../test/fakes/deps.ts'
import {
  criticalPod,
  drainAgain,
  type Given,
  graced,
  guarded,
  metadataOf,
  tainted,
  world,
} from '../../../test/fakes/drain-world.ts'
import {
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
import type { Json } from '../client/answers.ts'

useFakeTime()

describe('a drain leaves untouched', () => {
  test('a claim that is not being deleted, whoever scheduled the step', async () => {
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

  test('a Node that the watch has not reported is found by a read, and drained', async () => {
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
    const { cluster, drain, conditions, reported } = world({
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
    expect(reported.filter(({ reason }) => reason === 'Evicted').map(({ about }) => about)).toEqual([
      'Pod/web',
      'Pod/logs',
    ])
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
    const { drain, reported } = world({
      claim: goingClaim('a', { status: { conditions } }),
      pods: [podJson('web', 'a')],
    })
    await ended(drain())
    expect(reported.find(({ reason }) => reason === 'Evicted')?.message).toBe('Evicted pod: Drifted')
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

  test('does not read a lagging cache as an empty node', async () => {
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
    await ended(drainAgain(again.deps))
    const evicted = cluster.attempts.filter((attempt) => attempt.startsWith('evict'))
    expect(evicted.sort()).toEqual([
      'evict /api/v1/namespaces/default/pods/api',
      'evict /api/v1/namespaces/default/pods/web',
    ])
  })

  test('ends when a user removes the finalizer of the Node', async () => {
    const { cluster, drain } = world({ pods: [podJson('guarded', 'a', { metadata: guarded })] })
    const work = drain()
    await pass(2000)
    cluster.remove('nodes', 'aks-a')
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 0 })
    expect(cluster.names('pods')).toEqual(['guarded'])
  })
})

describe('a restore of etcd', () => {
  const back = claimJson('a')

  test('that takes the deletion back ends a drain that waits for pods: it refuses, and evicts nothing more', async () => {
    const { cluster, drain, conditions } = world({ pods: [podJson('web', 'a')], budgets: [budgetJson('web', 0)] })
    const work = drain()
    await pass(20_000)
    cluster.put('nodeclaims', back)
    cluster.put('nodes', nodeJson('a'))
    cluster.remove('poddisruptionbudgets', 'web', 'default')
    const asked = cluster.attempts.length
    await expect(ended(work)).rejects.toThrow('NodeClaim a: metadata.deletionTimestamp is not set')
    expect(cluster.attempts.slice(asked).filter((attempt) => /evict|patch/.test(attempt))).toEqual([])
    expect([cluster.names('pods'), conditions()]).toEqual([['web'], []])
  })

  test('that takes the deletion back ends a drain that waits for volumes', async () => {
    const { cluster, drain, conditions } = world({ attachments: [attachmentJson('disk', 'a', 'pv-1')] })
    const work = drain()
    await pass(20_000)
    expect(conditions()).toEqual(['Drained=True', 'VolumesDetached=Unknown'])
    cluster.put('nodeclaims', back)
    await expect(ended(work)).rejects.toThrow('NodeClaim a: metadata.deletionTimestamp is not set')
    expect(conditions()).toEqual([])
  })

  test('that takes the deletion back while the last pods are looked for writes no condition that the next drain would go by', async () => {
    const { cluster, drain, conditions } = world({ claim: goingClaim('a', { status: tainted }) })
    cluster.intercept(({ verb, path }) => {
      if (verb === 'list' && path === '/api/v1/pods') cluster.put('nodeclaims', back)
    })
    await ended(drain()).catch(() => {})
    expect(conditions()).toEqual([])
  })

  test('that takes the deletion back while an eviction is refused writes none either', async () => {
    const { cluster, drain, conditions } = world({ pods: [podJson('web', 'a')], budgets: [budgetJson('web', 0)] })
    cluster.intercept(({ verb }) => {
      if (verb === 'evict') cluster.put('nodeclaims', back)
    })
    await expect(ended(drain())).rejects.toThrow('NodeClaim a: metadata.deletionTimestamp is not set')
    expect(conditions()).toEqual([])
  })

  test('that takes back what the drain began with, and not the deletion, has it begin again', async () => {
    const pods = [podJson('web', 'a', { metadata: guarded })]
    const { cluster, drain, conditions, taints } = world({ claim: graced(3600), pods })
    const work = drain()
    await pass(20_000)
    cluster.put('nodeclaims', graced(3600))
    cluster.put('nodes', nodeJson('a'))
    await pass(3000)
    expect([conditions(), taints()]).toEqual([['Drained=Unknown'], ['karpenter.sh/disrupted']])
    expect(metadataOf(cluster)?.annotations['karpenter.sh/nodeclaim-termination-timestamp']).toBe(
      '2026-01-01T01:00:00Z',
    )
    cluster.remove('pods', 'web', 'default')
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 0 })
  })
})
