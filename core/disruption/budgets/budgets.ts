import type { Budget } from '../../objects.ts'
import { parseGoDuration } from '../../values/duration.ts'
import { type CronSchedule, nextTime, parseCron } from './cron.ts'

/** No budget applies to the reason: nothing limits it. */
export const unlimited = 2147483647

type BudgetState = boolean | 'invalid'

export interface AllowedDisruptions {
  readonly allowed: number
  /** Whether each budget is in force now; `invalid` when its schedule cannot be read. */
  readonly active: readonly BudgetState[]
  readonly invalid: boolean
}

/**
 * Returns how many of a pool's nodes may be disrupted at once for a reason: the least of the budgets in force for it, percentages rounded up. An
 * unreadable schedule or number blocks everything, even when its budget is for another reason (reference/karpenter-core.md 4.10).
 */
export function allowedDisruptions({
  budgets,
  nodes,
  reason,
  now,
}: {
  readonly budgets: readonly Budget[]
  readonly nodes: number
  readonly reason: string
  readonly now: number
}): AllowedDisruptions {
  const active = budgets.map((budget) => budgetState(budget, now))
  const inForce = budgets.filter((_, index) => active[index] === true)
  const invalid = active.includes('invalid') || inForce.some((budget) => amountOf(budget.nodes, nodes) === undefined)
  const amounts = inForce
    .filter((budget) => concerns(budget, reason))
    .map(({ nodes: text }) => amountOf(text, nodes) ?? 0)
  return { allowed: invalid ? 0 : Math.min(unlimited, ...amounts), active, invalid }
}

/** Whether a budget applies to a reason. One without reasons applies to all, one with an empty list to none. */
export function concerns({ reasons }: Budget, reason: string): boolean {
  return reasons === undefined || reasons === null || reasons.includes(reason)
}

/** Returns a number, or a percentage of the nodes, rounded up. Undefined when the text is neither. */
export function amountOf(text: string, nodes: number): number | undefined {
  if (/^[+-]?[0-9]+$/.test(text)) return Number(text)
  return /^[+-]?[0-9]+%$/.test(text) ? Math.ceil((Number.parseInt(text, 10) * nodes) / 100) : undefined
}

/** When a budget is in force: always, or for a duration from each time its schedule fires. */
export type BudgetWindow = 'always' | { readonly schedule: CronSchedule; readonly lengthMs: number }

/** Undefined when schedule or duration cannot be read, or when there is a duration alone. A schedule alone is a window of length zero. */
export function windowOf({ schedule, duration }: Budget): BudgetWindow | undefined {
  const hasSchedule = schedule !== undefined && schedule !== null
  const hasDuration = duration !== undefined && duration !== null
  if (!hasSchedule && !hasDuration) return 'always'
  const parsed = parseCron(schedule ?? '')
  const length = hasDuration ? parseGoDuration(duration) : 0n
  if (parsed === undefined || length === undefined) return undefined
  return { schedule: parsed, lengthMs: Number(length / 1_000_000n) }
}

/** A schedule that never fires counts as always in force, as upstream. */
function budgetState(budget: Budget, now: number): BudgetState {
  const window = windowOf(budget)
  if (window === undefined) return 'invalid'
  if (window === 'always') return true
  const hit = nextTime(window.schedule, now - window.lengthMs)
  return hit === 'never' || hit <= now
}
