// The record of the last whole run, and what the documentation says of it.
import { readFileSync, writeFileSync } from 'node:fs'
import { markdownText } from '../../core/values/markdown.ts'
import { alignedTable } from '../../deploy/marked-table.ts'
import type { Expected } from './judgement.ts'
import type { Result } from './specs.ts'

const file = new URL('./last-run.json', import.meta.url)

interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** A whole run of the functional suites. */
export interface WholeRun {
  /** Karpenter's version. */
  readonly karpenter: string
  /** Date, commit and cores. */
  readonly circumstances: string
  readonly minutes: number
  readonly groups: readonly (Counts & { readonly suite: string; readonly group: string })[]
  /** What did not pass. */
  readonly notPassed: readonly { readonly spec: string; readonly outcome: string; readonly reason: string }[]
}

/** Undefined: there was none yet. */
export function lastRun(): WholeRun | undefined {
  return (JSON.parse(readFileSync(file, 'utf8')) as WholeRun | null) ?? undefined
}

export function keepRun(run: WholeRun): void {
  writeFileSync(file, `${JSON.stringify(run, null, 2)}\n`)
}

/** The counts of results, by suite and group. */
export function groupsOf(results: readonly Result[]): WholeRun['groups'] {
  const groups = Map.groupBy(results, ({ spec: { suite, group } }) => `${suite} ${group}`)
  return [...groups.entries()]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([key, found]) => {
      const [suite = '', group = ''] = key.split(' ')
      return { suite, group, ...counted(found) }
    })
}

function counted(results: readonly Result[]): Counts {
  const count = (outcome: string) => results.filter((result) => result.outcome === outcome).length
  return { passed: count('passed'), failed: count('failed'), skipped: count('skipped') }
}

/** What did not pass, with the reason where it was expected, else with what the spec said. */
export function notPassedOf(results: readonly Result[], expected: readonly Expected[]): WholeRun['notPassed'] {
  return results
    .filter(({ outcome }) => outcome !== 'passed')
    .map(({ spec: { name }, outcome, why }) => ({
      spec: name,
      outcome,
      reason: expected.find(({ spec }) => spec === name)?.reason ?? why,
    }))
}

/** Sums of all groups. */
function totalOf(groups: WholeRun['groups']): Counts {
  const sum = (of: (counts: Counts) => number) => groups.reduce((total, counts) => total + of(counts), 0)
  return { passed: sum((one) => one.passed), failed: sum((one) => one.failed), skipped: sum((one) => one.skipped) }
}

/** Counts by group with their sum. */
export function groupTable(groups: WholeRun['groups']): string {
  const cells = ({ passed, failed, skipped }: Counts) =>
    [passed + failed + skipped, passed, failed, skipped].map(String)
  const rows = groups.map((one) => [one.suite, one.group, ...cells(one)])
  return alignedTable(
    ['Suite', 'Group', 'Specs', 'Passed', 'Failed', 'Skipped'],
    [...rows, ['', '**sum**', ...cells(totalOf(groups))]],
  )
}

const command = '`npm run upstream-e2e`'

/** The part of docs/upstream-tests.md about the run. */
export function pagePart(run: WholeRun | undefined): string {
  const intro = `${command} runs the suites \`regression\` and \`disruption\` of Karpenter itself, unchanged, against Joiner on real servers. A spec that fails or skips itself by decision is in \`test/upstream-e2e/expected.json\`; a run in which any other spec does so, or in which one of these passes, ends with 1.`
  if (run === undefined) return `${intro}\n\nNo whole run yet.\n`
  const { karpenter, circumstances, minutes, groups, notPassed } = run
  const rows = notPassed.map(({ spec, outcome, reason }) => [spec, outcome, reason].map(markdownText))
  return [
    intro,
    `\nKarpenter ${karpenter}; ${circumstances}; ${Math.round(minutes)} minutes.\n`,
    groupTable(groups),
    ...(rows.length === 0 ? [] : [alignedTable(['Spec that did not pass', 'Outcome', 'Reason'], rows)]),
  ].join('\n')
}

/** The line of README.md about the run. */
export function readmeLine(run: WholeRun | undefined): string {
  const suites = `The suites \`regression\` and \`disruption\` of Karpenter itself run unchanged against Joiner, a real API server and a simulated Azure (${command})`
  if (run === undefined) return `${suites}; there was no whole run yet.\n`
  const { passed, failed, skipped } = totalOf(run.groups)
  const verb = (count: number, one: string, more: string) => `${count} ${count === 1 ? one : more}`
  const verdicts = [
    verb(passed, 'passes', 'pass'),
    verb(failed, 'fails', 'fail'),
    verb(skipped, 'skips itself', 'skip themselves'),
  ]
  return `${suites}: of their ${passed + failed + skipped} specs (version ${run.karpenter}), ${verdicts.join(', ')} ([which and why](docs/upstream-tests.md#karpenters-own-end-to-end-suites)).\n`
}
