import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { sampleClaim } from '../../test/samples/sample-objects.ts'
import { DisruptionMetrics } from './metrics.ts'

/** Returns the registry's lines after a call, without help, types and buckets. */
async function shownAfter(act: (metrics: DisruptionMetrics) => void): Promise<readonly string[]> {
  const registry = new Registry()
  act(new DisruptionMetrics(registry))
  const lines = (await registry.metrics()).split('\n')
  return lines.filter((line) => line !== '' && !line.startsWith('#') && !line.includes('_bucket{'))
}
const ofSingle = 'reason="underutilized",consolidation_type="single"'
const ofDrift = 'reason="drifted",consolidation_type=""'
const spot = { 'karpenter.sh/nodepool': 'web', 'karpenter.sh/capacity-type': 'spot' }
const claim = (terminationGracePeriod?: string) =>
  sampleClaim('a', {
    metadata: { labels: spot },
    spec: terminationGracePeriod === undefined ? {} : { terminationGracePeriod },
  })

it('an evaluation has the reason and the type of its method, in seconds', async () => {
  const name = 'karpenter_voluntary_disruption_decision_evaluation_duration_seconds'
  expect(await shownAfter((metrics) => metrics.evaluated('single-node', 250))).toEqual([
    `${name}_sum{${ofSingle}} 0.25`,
    `${name}_count{${ofSingle}} 1`,
  ])
})

it('candidates are those of the last method of their reason', async () => {
  const shown = await shownAfter((metrics) => {
    metrics.eligible('multi-node', 7)
    metrics.eligible('single-node', 5)
    metrics.eligible('emptiness', 0)
  })
  expect(shown).toEqual([
    'karpenter_voluntary_disruption_eligible_nodes{reason="underutilized"} 5',
    'karpenter_voluntary_disruption_eligible_nodes{reason="empty"} 0',
  ])
})

it('a command counts once, and once for each pool that it takes nodes of', async () => {
  const of = 'decision="replace",reason="underutilized",consolidation_type="multi"'
  const command = { method: 'multi-node', decision: 'replace' } as const
  expect(await shownAfter((metrics) => metrics.decided(command, ['web', 'batch', 'web']))).toEqual([
    `karpenter_voluntary_disruption_decisions_total{${of}} 1`,
    `karpenter_voluntary_disruption_decisions_by_nodepool_total{nodepool="web",${of}} 1`,
    `karpenter_voluntary_disruption_decisions_by_nodepool_total{nodepool="batch",${of}} 1`,
  ])
})

it('what fails is counted by candidates and by replacements', async () => {
  const shown = await shownAfter((metrics) => {
    metrics.validationFailed('emptiness', 3)
    metrics.queueFailed({ method: 'drift', decision: 'replace' }, 2)
  })
  expect(shown).toEqual([
    'karpenter_voluntary_disruption_failed_validations_total{consolidation_type="empty"} 3',
    `karpenter_voluntary_disruption_queue_failures_total{decision="replace",${ofDrift}} 2`,
  ])
})

it.each([
  [{ method: 'single-node' } as const, undefined, 'underutilized', 'when_empty_or_underutilized', 'graceful'],
  [{ method: 'emptiness' } as const, '1h', 'empty', 'when_empty_or_underutilized', 'eventual'],
  [{ method: 'drift' } as const, '0s', 'drifted', '', 'forceful'],
  [{ reason: 'expired' }, undefined, 'expired', '', 'graceful'],
])('a node disrupted for %j with grace period %s', async (why, grace, reason, policy, mode) => {
  const node = { why, policy: 'WhenEmptyOrUnderutilized', reschedulablePods: 4 } as const
  const of = `reason="${reason}",nodepool="web",capacity_type="spot",consolidation_policy="${policy}",termination_mode="${mode}"`
  expect(await shownAfter((metrics) => metrics.disrupted({ nodeClaim: claim(grace), ...node }))).toEqual([
    `karpenter_nodeclaims_disrupted_total{${of}} 1`,
    `karpenter_pods_disruption_initiated_total{${of}} 4`,
  ])
})

it('moves are counted under each policy and scored under one, an infinite score as a large one', async () => {
  const move = { decision: 'approved', nodePool: 'web' } as const
  const shown = await shownAfter((metrics) => {
    metrics.scored({ ...move, policy: 'WhenEmptyOrUnderutilized' })
    metrics.scored({ ...move, policy: 'Balanced', score: 1.5 })
    metrics.scored({ ...move, policy: 'Balanced', score: Number.POSITIVE_INFINITY })
  })
  expect(shown).toEqual([
    'karpenter_consolidation_score_sum{decision="approved",nodepool="web",policy="Balanced"} 1001.5',
    'karpenter_consolidation_score_count{decision="approved",nodepool="web",policy="Balanced"} 2',
    'karpenter_consolidation_moves_total{decision="approved",nodepool="web",policy="WhenEmptyOrUnderutilized"} 1',
    'karpenter_consolidation_moves_total{decision="approved",nodepool="web",policy="Balanced"} 2',
  ])
})

it('savings only grow, proposals end in one way', async () => {
  const shown = await shownAfter((metrics) => {
    metrics.saved('single-node', 'web', 0.25)
    metrics.saved('single-node', 'web', -1)
    metrics.proposed('single-node', 'rejected')
  })
  expect(shown).toEqual([
    'joiner_disruption_savings_dollars_per_hour_total{nodepool="web",reason="underutilized"} 0.25',
    `joiner_disruption_proposals_total{${ofSingle},outcome="rejected"} 1`,
  ])
})
