import type { Budget } from '../../objects.ts'
import { amountOf, concerns, unlimited, windowOf } from './budgets.ts'
import { type CronSchedule, nextTime } from './cron.ts'

/** A period in which the same budgets allow the same number; in epoch ms, the end not included. */
export interface BudgetPeriod {
  readonly fromMs: number
  readonly toMs: number
  /** Nodes that may be disrupted at once; 2147483647: no limit. */
  readonly allowed: number
  /** Indexes of the budgets that set the limit: several when they allow the same, none when there is no limit. */
  readonly because: readonly number[]
}

/** State of a budget at a moment, and until when it certainly stays so. */
interface Stand {
  readonly isActive: boolean
  readonly untilMs: number
}

/** A budget that applies to a reason. */
interface Rule {
  readonly index: number
  readonly amount: number
  readonly standAt: (timeMs: number, endMs: number) => Stand
}

const always: Stand = { isActive: true, untilMs: Number.POSITIVE_INFINITY }
const never: Stand = { isActive: false, untilMs: Number.POSITIVE_INFINITY }

/**
 * Returns what a pool's budgets allow for a reason over a time span, for the present number of nodes. At each moment it equals the answer of
 * `allowedDisruptions`. The work grows with the number of times a schedule fires: at most one each minute.
 */
export function budgetForecast(input: {
  readonly budgets: readonly Budget[]
  readonly nodes: number
  readonly reason: string
  /** Epoch ms. */
  readonly from: number
  readonly to: number
}): readonly BudgetPeriod[] {
  const { budgets, nodes, reason, from, to } = input
  const rules = budgets.flatMap((budget, index) => ruleOf({ budget, index }, nodes, reason) ?? [])
  const stands: Stand[] = []
  const periods: BudgetPeriod[] = []
  for (let at = from; at < to; ) {
    let end = to
    for (const [index, rule] of rules.entries()) {
      let stand = stands[index]
      if (stand === undefined || stand.untilMs <= at) stands[index] = stand = rule.standAt(at, to)
      end = Math.min(end, stand.untilMs)
    }
    append(periods, { fromMs: at, toMs: end, ...limitOf(rules.filter((_, index) => stands[index]?.isActive === true)) })
    at = end
  }
  return periods
}

/** An unreadable budget allows nothing, for any reason. Undefined when the budget does not apply. */
function ruleOf(
  { budget, index }: { readonly budget: Budget; readonly index: number },
  nodes: number,
  reason: string,
): Rule | undefined {
  const amount = amountOf(budget.nodes, nodes)
  const standAt = standing(budget)
  if (standAt === undefined) return { index, amount: 0, standAt: () => always }
  if (amount !== undefined && !concerns(budget, reason)) return undefined
  return { index, amount: amount ?? 0, standAt }
}

/** Returns a budget's state over time; undefined when its schedule or its duration cannot be read. */
function standing(budget: Budget): Rule['standAt'] | undefined {
  const window = windowOf(budget)
  if (window === undefined || window === 'always') return window && (() => always)
  const { schedule, lengthMs } = window
  // It is in force when it last fired less than its length ago, so with a fixed distance it is in force always or never.
  if (schedule.kind === 'every') return () => (schedule.milliseconds <= lengthMs ? always : never)
  return (timeMs, endMs) => standAt({ schedule, lengthMs, timeMs, endMs })
}

/** In force for the duration from each time at which the schedule fires, which may be again before the end. Always in force when it never fires. */
function standAt(of: {
  readonly schedule: CronSchedule
  readonly lengthMs: number
  readonly timeMs: number
  readonly endMs: number
}): Stand {
  const { schedule, lengthMs, timeMs, endMs } = of
  const first = nextTime(schedule, timeMs - lengthMs)
  if (first === 'never') return always
  if (first > timeMs) return { isActive: false, untilMs: first }
  let last = first
  while (last + lengthMs < endMs) {
    const next = nextTime(schedule, last)
    if (next === 'never' || next > last + lengthMs) break
    last = next
  }
  return { isActive: true, untilMs: last + lengthMs }
}

function limitOf(active: readonly Rule[]): Pick<BudgetPeriod, 'allowed' | 'because'> {
  const allowed = active.reduce((least, { amount }) => Math.min(least, amount), unlimited)
  return { allowed, because: active.filter(({ amount }) => amount === allowed).map(({ index }) => index) }
}

/** Adds a period, or extends the last one if it says the same. */
function append(periods: BudgetPeriod[], period: BudgetPeriod): void {
  const last = periods.at(-1)
  if (last?.allowed === period.allowed && String(last.because) === String(period.because)) {
    periods[periods.length - 1] = { ...last, toMs: period.toMs }
  } else periods.push(period)
}
