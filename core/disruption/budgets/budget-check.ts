import type { Budget } from '../../objects.ts'
import { parseGoDuration } from '../../values/duration.ts'
import { printableStart } from '../../values/printable.ts'
import { amountOf, windowOf } from './budgets.ts'
import { cronProblem, nextTime } from './cron.ts'

/** A problem with a budget that its author hardly intended. */
export interface BudgetFinding {
  readonly index: number
  /** Whether it blocks all disruption of the pool. Otherwise only the budget itself has another effect than it seems to. */
  readonly isBlocking: boolean
  /** With the field, its value and what to write instead. */
  readonly message: string
}

/** Returns the problems of a pool's budgets at a moment (epoch ms). */
export function budgetFindings(budgets: readonly Budget[], now: number): readonly BudgetFinding[] {
  return budgets.flatMap((budget, index) => {
    const blocking = blockingProblem(budget)
    const message = blocking ?? oddity(budget, now)
    if (message === undefined) return []
    return [{ index, isBlocking: blocking !== undefined, message: `spec.disruption.budgets[${index}].${message}` }]
  })
}

/** Returns why a budget blocks all disruption of its pool, with field, value and remedy; undefined when it does not. */
export function blockingProblem({ nodes, schedule, duration }: Budget): string | undefined {
  if (amountOf(nodes, 0) === undefined)
    return `nodes: "${shown(nodes)}" is neither a number nor a percentage, so it blocks all disruption; write such as "3" or "10%"`
  if (duration && parseGoDuration(duration) === undefined)
    return `duration: "${shown(duration)}" is not a duration, so it blocks all disruption; write hours and minutes such as 1h30m`
  if (duration && !schedule)
    return `duration: "${shown(duration)}" has no schedule, so it blocks all disruption; add a schedule, or remove the duration`
  const problem = schedule === undefined || schedule === null ? undefined : cronProblem(schedule)
  return problem && `schedule: "${shown(schedule ?? '')}" cannot be read, so it blocks all disruption: ${problem}`
}

/** A condition's reader needs no more of it. */
function shown(text: string): string {
  return printableStart(text, 100)
}

function oddity(budget: Budget, now: number): string | undefined {
  const { reasons, schedule, duration } = budget
  if (reasons?.length === 0) return 'reasons: an empty list, so it limits nothing; name reasons, or remove the list'
  const window = windowOf(budget)
  if (window === undefined || window === 'always') return undefined
  if (!duration) return `schedule: "${schedule}" has no duration, so it is never in force; add a duration`
  if (window.schedule.kind === 'every')
    return `schedule: "${schedule}" counts from no fixed moment, so with duration ${duration} it is ${
      window.schedule.milliseconds <= window.lengthMs ? 'always' : 'never'
    } in force; write five fields`
  if (nextTime(window.schedule, now) !== 'never') return undefined
  return `schedule: "${schedule}" names no day of the next five years, and so counts as always in force; correct it`
}
