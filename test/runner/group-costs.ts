// What groups of tests cost, beside what they may cost.
import { table } from '../../bench/report.ts'
import { budgetOf } from './groups.ts'

/** What a group took in one run. */
export interface Cost {
  readonly suites: number
  readonly tests: number
  readonly seconds: number
  /** Not a number where the system does not count it. */
  readonly cpuSeconds: number
}

/** What a run leaves for who counts runs. */
export interface RunReport {
  readonly costs: Readonly<Record<string, Cost>>
  readonly passed: number
  readonly failed: number
  /** Tests that were skipped, each with the reason. */
  readonly skipped: readonly string[]
}

/** Minutes with one digit behind the point. */
export const minutes = (seconds: number) => (Number.isFinite(seconds) ? (seconds / 60).toFixed(1) : '-')

/** A table of what each group took. */
export function costTable(costs: Readonly<Record<string, Cost>>): string {
  const rows = Object.entries(costs).map(([name, { suites, tests, seconds, cpuSeconds }]) => {
    const budget = budgetOf(name)
    return [name, String(suites), String(tests), minutes(seconds), minutes(cpuSeconds), budget?.toFixed(1) ?? '']
  })
  return table(['group', 'suites', 'tests', 'minutes', 'of a core', 'budget'], rows)
}

/** A line for each group that took longer than it may: machines are noisy, so it is a warning. */
export function overBudget(costs: Readonly<Record<string, Cost>>): readonly string[] {
  return Object.entries(costs).flatMap(([name, { seconds }]) => {
    const budget = budgetOf(name)
    if (budget === undefined || seconds <= budget * 60) return []
    return [
      `warning: the group ${name} took ${minutes(seconds)} minutes; its budget is ${budget} (test/runner/groups.ts)`,
    ]
  })
}
