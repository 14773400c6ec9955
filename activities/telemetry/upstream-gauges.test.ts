import { Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { kubernetesDeps, metricLines } from '../../test/fakes/deps.ts'
import { nodeJson, podJson, poolJson } from '../../test/fakes/objects.ts'
import { plannedClaim } from '../../test/fakes/planning.ts'
import { pass, useFakeTime } from '../../test/fakes/time.ts'
import { PlanningMetrics } from '../provisioning/metrics.ts'
import type { ThreadPlan } from '../scheduler-thread/keyed-plan.ts'
import type { GaugeFamily } from './gauge-family.ts'
import { nodeGauges } from './node-gauges.ts'
import { podStates } from './pod-gauges.ts'
import { waitsFromCreation } from './pod-waits.ts'

// Names say which tests of upstream's suites metrics/pod, metrics/node and metrics/nodepool they answer to.
useFakeTime()

/** Takes an object away, and waits until caches have heard of it. */
async function gone(cluster: FakeCluster, ...object: Parameters<FakeCluster['remove']>): Promise<void> {
  cluster.remove(...object)
  await pass(0)
}

const waiting = { spec: { nodeName: undefined }, status: { phase: 'Pending' } }
const undecided = 'karpenter_pods_provisioning_scheduling_undecided_time_seconds{'
const planned = [
  'karpenter_pods_provisioning_unbound_time_seconds',
  'karpenter_pods_provisioning_unstarted_time_seconds',
]
const all = ['karpenter_pods_unbound_time_seconds', 'karpenter_pods_unstarted_time_seconds', ...planned]

/** A cluster with a pod that waits, of a pool whose nodes join. */
function world() {
  const cluster = new FakeCluster()
  cluster.put(
    'nodepools',
    poolJson('default', { status: { conditions: [{ type: 'NodeRegistrationHealthy', status: 'True' }] } }),
  )
  const { deps } = kubernetesDeps(cluster)
  const registry = new Registry()
  const metrics = new PlanningMetrics({ cache: deps.cache, now: deps.now }, registry)
  const waits = waitsFromCreation({ now: deps.now, isReported: () => true }, registry)
  deps.cache.onChange(({ kind, before, after }) => {
    if (kind === 'Pod') for (const wait of waits) wait.changed(before as never, after as never)
  })
  cluster.put('pods', podJson('a', 'a', waiting))
  const pods = () => [...deps.cache.pods.values()]
  const plan = (change: object) =>
    metrics.passed({
      newNodeClaims: [],
      existing: [],
      unschedulable: [],
      ignored: 0,
      zones: new Map(),
      ...change,
    } as unknown as ThreadPlan)
  return {
    cluster,
    cache: deps.cache,
    metrics,
    pods,
    placed: () => plan({ newNodeClaims: [plannedClaim({ pods: pods() })] }),
    refused: () => plan({ unschedulable: pods().map((pod) => ({ pod })) }),
    undecided: () => metricLines(registry, undecided),
    waits: () => named([...waits.map((wait) => wait.family()), ...metrics.families()]),
  }
}

const named = (families: readonly GaugeFamily[]) =>
  families.filter(({ samples }) => [...samples()].length > 0).map(({ name }) => name)

describe('upstream metrics/pod: undecided time', () => {
  test('should create and delete provisioning undecided metrics based on scheduling simulations', async () => {
    const { metrics, pods, placed, undecided } = world()
    expect(await undecided()).toHaveLength(0)
    metrics.waiting(pods())
    expect(await undecided()).toHaveLength(1)
    placed()
    expect(await undecided()).toHaveLength(0)
  })

  test.each([
    ['should delete provisioning undecided metrics based on pod deletes', 'delete'],
    ['should delete provisioning undecided metrics when the pod is already bound', 'bind'],
  ])('%s', async (_, change) => {
    const { cluster, metrics, pods, undecided } = world()
    metrics.waiting(pods())
    expect(await undecided()).toHaveLength(1)
    if (change === 'delete') await gone(cluster, 'pods', 'a', 'default')
    else cluster.put('pods', podJson('a', 'a'))
    metrics.waiting(pods().filter(({ nodeName }) => nodeName === undefined))
    expect(await undecided()).toHaveLength(0)
  })
})

describe('upstream metrics/pod: unbound and unstarted time', () => {
  test('should delete pod unbound and unstarted time metrics on pod delete', async () => {
    const { cluster, placed, waits } = world()
    placed()
    expect(waits()).toEqual(all)
    await gone(cluster, 'pods', 'a', 'default')
    expect(waits()).toEqual([])
  })

  test('should delete pod unbound and unstarted time metrics when pod schedulable time is zero', () => {
    const { placed, refused, waits } = world()
    placed()
    expect(waits()).toEqual(all)
    refused()
    expect(waits()).toEqual(all.filter((name) => !planned.includes(name)))
  })

  test.each(['Succeeded', 'Failed'])(
    'should update the pod startup and unstarted time metrics when the pod has %s',
    (phase) => {
      const { cluster, placed, waits } = world()
      placed()
      expect(waits()).toEqual(all)
      cluster.put('pods', podJson('a', 'a', { status: { phase } }))
      expect(waits()).toEqual([])
    },
  )

  test('a pod that is bound and runs, but is not ready, is still unstarted (should update the pod startup and unstarted time metrics)', () => {
    const { cluster, placed, waits } = world()
    placed()
    const bound = { type: 'PodScheduled', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }
    cluster.put('pods', podJson('a', 'a', { status: { phase: 'Running', conditions: [bound] } }))
    expect(waits()).toEqual(all.filter((name) => name.includes('unstarted')))
    const ready = { ...bound, type: 'Ready' }
    cluster.put('pods', podJson('a', 'a', { status: { phase: 'Running', conditions: [bound, ready] } }))
    expect(waits()).toEqual([])
  })
})

describe('upstream: what is gone has no gauge', () => {
  test('should update the pod state metrics with pod phase, and delete the pod state metric on pod delete', async () => {
    const { cluster, cache } = world()
    const phases = () => [...podStates(cache).samples()].map(([pairs]) => /phase="(\w+)"/.exec(pairs)?.[1])
    expect(phases()).toEqual(['Pending'])
    cluster.put('pods', podJson('a', 'a'))
    expect(phases()).toEqual(['Running'])
    await gone(cluster, 'pods', 'a', 'default')
    expect(phases()).toEqual([])
  })

  test('should remove the node metric gauge when the node is deleted', async () => {
    const { cluster, cache } = world()
    const nodes = () => named(nodeGauges(cache, () => Date.now())).filter((name) => name.includes('_nodes_'))
    cluster.put('nodes', nodeJson('a'))
    expect(nodes()).toContain('karpenter_nodes_allocatable')
    await gone(cluster, 'nodes', 'aks-a')
    expect(nodes()).toEqual([])
  })

  test('should delete the nodepool state metrics on nodepool delete', async () => {
    const { cluster, cache } = world()
    const pools = () => named(nodeGauges(cache, () => Date.now())).filter((name) => name.includes('_nodepools_'))
    cluster.put(
      'nodepools',
      poolJson('default', { spec: { limits: { cpu: '10' } }, status: { resources: { cpu: '1' } } }),
    )
    expect(pools()).toEqual(['karpenter_nodepools_limit', 'karpenter_nodepools_usage'])
    await gone(cluster, 'nodepools', 'default')
    expect(pools()).toEqual([])
  })
})
