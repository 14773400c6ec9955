// What docs/testing.md says of the last complete run.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { table } from '../../../bench/report.ts'
import { withTable } from '../../../deploy/marked-table.ts'
import { type Cost, costTable, minutes, type RunReport } from '../group-costs.ts'
import { budgetOf } from '../groups.ts'

/** The page that has the record. */
export const page = fileURLToPath(new URL('../../../docs/testing.md', import.meta.url))
const mark = 'last complete run'

/** How a step of a complete run ended. */
export interface Ended {
  readonly name: string
  readonly outcome: 'passed' | 'failed' | 'not run'
  readonly seconds: number
  /** Why it did not run. */
  readonly reason?: string
  readonly report?: RunReport
}

/** The record of a complete run. `circumstances` has its date and commit. */
export function recordOf(circumstances: string, ended: readonly Ended[]): string {
  const reports = ended.flatMap(({ report }) => report ?? [])
  const sum = (of: (report: RunReport) => number) => reports.reduce((total, report) => total + of(report), 0)
  const costs = Object.assign({}, ...reports.map((report) => report.costs)) as Readonly<Record<string, Cost>>
  const daily = Object.entries(costs).filter(([name]) => budgetOf(name) !== undefined)
  const total = (of: (cost: Cost) => number) => daily.reduce((all, [, cost]) => all + of(cost), 0)
  const skipped = sum((report) => report.skipped.length)
  return [
    `${circumstances}: ${sum(({ passed }) => passed)} tests passed, ${sum(({ failed }) => failed)} failed, ${skipped} skipped.`,
    `What \`npm test\` runs of it, ${total(({ tests }) => tests)} tests, took **${minutes(total(({ seconds }) => seconds))} minutes**.`,
    `\n${costTable(costs)}\n`,
    table(
      ['step', 'outcome', 'minutes'],
      ended.map(({ name, outcome, seconds }) => [name, outcome, minutes(seconds)]),
    ),
  ].join('\n')
}

/** Puts a record into the page. */
export function withRecord(text: string, record: string): string {
  return withTable(text, { name: page, mark, by: 'npm run test:all' }, `${record}\n`)
}

/** What a complete run did not run, a line each. */
export function notRun(ended: readonly Ended[], leftOut: readonly string[]): readonly string[] {
  return [
    ...ended.flatMap(({ name, reason }) => (reason === undefined ? [] : [`${name}: ${reason}`])),
    ...ended.flatMap(({ report }) => report?.skipped ?? []),
    ...leftOut,
  ]
}

/** The commit of the last complete run, as a page has it. Undefined: it has none. */
export function recordedCommit(text = readFileSync(page, 'utf8')): string | undefined {
  const at = text.indexOf(`<!-- ${mark}:`)
  return at < 0 ? undefined : /commit ([0-9a-f]{7,40})/.exec(text.slice(at))?.[1]
}
