import { parseGoDuration } from '../duration.ts'
import type { Budget } from '../objects.ts'

/** The first time after `after` at which a cron schedule fires, in UTC; undefined when the text is not a schedule. Epoch milliseconds. */
export type NextCronHit = (schedule: string, after: number) => number | undefined

/** No budget speaks of the reason: nothing limits it. */
const unlimited = 2147483647

type BudgetState = boolean | 'invalid'

export interface AllowedDisruptions {
  readonly allowed: number
  /** Whether each budget is in force now; `invalid` when its schedule cannot be read. */
  readonly active: readonly BudgetState[]
  readonly invalid: boolean
}

/**
 * How many of a pool's nodes may be disrupted at once for a reason: the least of the budgets in force that speak of it, a percentage rounded up.
 * A schedule that cannot be read blocks everything (reference/karpenter-core.md 4.10).
 */
export function allowedDisruptions(
  input: { readonly budgets: readonly Budget[]; readonly nodes: number; readonly reason: string; readonly now: number },
  nextCronHit: NextCronHit,
): AllowedDisruptions {
  const { budgets, nodes, reason, now } = input
  const active = budgets.map((budget) => budgetState(budget, now, nextCronHit))
  const invalid = active.includes('invalid')
  const amounts = budgets.flatMap((budget, index) =>
    active[index] === true &&
    (budget.reasons === undefined || budget.reasons === null || budget.reasons.includes(reason))
      ? [amountOf(budget.nodes, nodes)]
      : [],
  )
  return { allowed: invalid ? 0 : Math.min(unlimited, ...amounts), active, invalid }
}

function amountOf(text: string, nodes: number): number {
  return text.endsWith('%') ? Math.ceil((Number.parseInt(text, 10) * nodes) / 100) : Number.parseInt(text, 10)
}

/** In force: without a schedule always; else for its duration from each time that the schedule fires. */
function budgetState({ schedule, duration }: Budget, now: number, nextCronHit: NextCronHit): BudgetState {
  if (schedule === undefined || schedule === null || duration === undefined || duration === null) return true
  const length = parseGoDuration(duration)
  if (length === undefined) return 'invalid'
  const hit = nextCronHit(schedule, now - Number(length / 1_000_000n))
  return hit === undefined ? 'invalid' : hit <= now
}
