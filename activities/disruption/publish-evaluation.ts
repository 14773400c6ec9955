import type { Logger } from 'pino'
import { budgetFindings } from '../../core/disruption/budgets/budget-check.ts'
import type { Evaluation } from '../../core/disruption/evaluate.ts'
import type { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import type { DisruptionMetrics } from './metrics.ts'

export interface TellEvaluationDeps {
  readonly cache: ClusterCache
  readonly log: Logger
  readonly disruptionMetrics: DisruptionMetrics
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** Publishes an evaluation's passes and judgements in metrics, and logs unreadable budgets, which block their pool. */
export function publishEvaluation(
  deps: TellEvaluationDeps,
  { passes, notes }: Pick<Evaluation, 'passes' | 'notes'>,
): void {
  const unreadable = new Set<string>()
  for (const { method, eligible, milliseconds, budgets } of passes) {
    deps.disruptionMetrics.evaluated(method, milliseconds)
    deps.disruptionMetrics.eligible(method, eligible)
    for (const [nodePool, { invalid }] of budgets) if (invalid) unreadable.add(nodePool)
  }
  for (const nodePool of unreadable) {
    const budgets = deps.cache.nodePools.get(nodePool)?.disruption.budgets ?? []
    const problems = budgetFindings(budgets, deps.now()).filter(({ isBlocking }) => isBlocking)
    for (const { message } of problems) deps.log.error({ nodePool }, message)
  }
  for (const note of notes) reportMove(deps.disruptionMetrics, note)
}

/** Counts consolidations of single nodes that were judged; upstream counts no others. */
function reportMove(
  metrics: DisruptionMetrics,
  { method, candidate, outcome, scores }: Evaluation['notes'][number],
): void {
  if (method !== 'single-node' || scores === undefined) return
  const { metadata, disruption } = candidate.nodePool
  const [score] = scores
  metrics.scored({
    decision: outcome === 'chosen' ? 'approved' : 'rejected',
    nodePool: metadata.name,
    policy: disruption.consolidationPolicy,
    ...(score === undefined ? {} : { score: score.value }),
  })
}
