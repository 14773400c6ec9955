import { expect, test } from 'vitest'
import { FakeCluster } from '../../test/fakes/cluster.ts'
import { metricLines } from '../../test/fakes/deps.ts'
import { condition, nodeJson, podJson, poolJson } from '../../test/fakes/objects.ts'
import { plannedClaim, planningDeps } from '../../test/fakes/planning.ts'
import type { ThreadPlan } from '../scheduler-thread/keyed-plan.ts'

const gauge = 'karpenter_pods_provisioning_unbound_time_seconds'

async function world(health: string) {
  const cluster = new FakeCluster()
  cluster.put(
    'nodepools',
    poolJson('default', { status: { conditions: [condition('NodeRegistrationHealthy', health)] } }),
  )
  cluster.put('nodes', nodeJson('a'))
  const pending = { spec: { nodeName: undefined }, status: { phase: 'Pending' } }
  const known = await planningDeps(cluster)
  cluster.put('pods', podJson('new', 'a', pending))
  cluster.put('pods', podJson('existing', 'a', pending))
  cluster.put('pods', podJson('bound', 'a'))
  const { metrics, cache } = known.deps
  const pod = (name: string) => [...cache.pods.values()].filter(({ metadata }) => metadata.name === name)
  const plan = {
    newNodeClaims: [plannedClaim({ pods: [...pod('new'), ...pod('bound')] })],
    existing: [{ node: 'aks-a', pods: pod('existing') }],
    unschedulable: [],
    ignored: 0,
    zones: new Map(),
  } as unknown as ThreadPlan
  const seen = () => metrics.families().flatMap((family) => (family.name === gauge ? [...family.samples()] : []))
  return { ...known, cluster, metrics, plan, seen }
}

test.each([
  ['True', 2],
  ['False', 0],
  ['Unknown', 0],
])(
  'upstream: waits count from the first plan with a pool whose NodeRegistrationHealthy is True (%s)',
  async (health, waits) => {
    const { metrics, plan, seen, registry } = await world(health)
    metrics.passed(plan)
    expect(seen()).toHaveLength(waits)
    expect(await metricLines(registry, 'karpenter_scheduler_unschedulable_pods_count')).toHaveLength(1)
  },
)

test('upstream: a pod that is planned for an unhealthy pool by now has no such plan any more', async () => {
  const { cluster, metrics, plan, seen } = await world('True')
  metrics.passed(plan)
  cluster.put(
    'nodepools',
    poolJson('default', { status: { conditions: [condition('NodeRegistrationHealthy', 'False')] } }),
  )
  metrics.passed(plan)
  expect(seen()).toEqual([])
})
