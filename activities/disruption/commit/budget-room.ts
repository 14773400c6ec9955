import { isTrue } from '../../../core/conditions.ts'
import { remainingBudgets } from '../../../core/disruption/budgets/pool-budgets.ts'
import { Pauses } from '../../../core/pauses/pauses.ts'
import type { DisruptionProposal } from '../contract.ts'
import { type EvaluationDeps, viewOf } from '../world.ts'

/**
 * Returns whether budgets allow that candidates of a proposal get their stamps, by the cache at this moment. Nodes that have not initialized use up none:
 * only a repair takes them.
 */
export function hasBudgetRoom(
  deps: EvaluationDeps,
  { candidates, reason }: Pick<DisruptionProposal, 'candidates' | 'reason'>,
): boolean {
  const budgets = remainingBudgets(viewOf(deps, new Pauses([])), reason)
  const counted = candidates.filter(({ name }) => {
    const claim = deps.cache.nodeClaims.get(name)
    return claim !== undefined && isTrue(claim.status.conditions, 'Initialized')
  })
  return [...Map.groupBy(counted, ({ nodePool }) => nodePool)].every(
    ([pool, own]) => own.length <= (budgets.get(pool)?.remaining ?? 0),
  )
}
