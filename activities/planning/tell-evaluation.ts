import { budgetFindings } from '../../core/disruption/budget-check.ts'
import type { Evaluation } from '../../core/disruption/evaluate.ts'
import type { PlanningDeps } from './dependencies.ts'

type Deps = Pick<PlanningDeps, 'cache' | 'disruptionMetrics' | 'log' | 'now'>

/** What an evaluation looked at, in metrics; and in the log the budgets that nobody can read and that therefore block their pool. */
export function tellEvaluation(deps: Deps, { passes }: Pick<Evaluation, 'passes'>): void {
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
}
