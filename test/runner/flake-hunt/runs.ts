// What repeated runs of a suite say.
import { table } from '../../../bench/report.ts'

/** One run of a suite. */
export interface Run {
  readonly seconds: number
  readonly tests: number
  readonly failures: readonly Failure[]
}

interface Failure {
  readonly test: string
  readonly text: string
}

/** As far as it is read from the runner's report. */
interface JsonReport {
  readonly numTotalTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: string
      readonly failureMessages?: readonly string[]
    }[]
  }[]
}

/** A run, from the report that it left. Undefined: it left none. */
export function runOf(
  text: string | undefined,
  ended: { readonly code: number | null; readonly seconds: number },
): Run {
  const report = text === undefined ? { numTotalTests: 0, testResults: [] } : (JSON.parse(text) as JsonReport)
  const failures = report.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults.filter((one) => one.status === 'failed')
    const own = failed.map(({ fullName, failureMessages = [] }) => ({
      test: fullName,
      text: failureMessages.join('\n'),
    }))
    return own.length === 0 && status === 'failed' ? [{ test: `${name} as a whole`, text: message }] : own
  })
  // A run may also fail outside of tests.
  const outside = ended.code !== 0 && failures.length === 0
  const other = { test: 'the run as a whole', text: `ended with ${ended.code}; run the suite by itself to see why` }
  return { seconds: ended.seconds, tests: report.numTotalTests, failures: outside ? [other] : failures }
}

/** What all runs of a suite came to. */
export function summaryOf(runs: readonly Run[]): string {
  const failed = runs.filter(({ failures }) => failures.length > 0)
  const times = runs.map(({ seconds }) => seconds)
  const span = `${Math.min(...times).toFixed(1)} to ${Math.max(...times).toFixed(1)} s`
  const head = `${runs.length} runs, ${failed.length} failed, ${span} each.`
  const counts = Map.groupBy(
    runs.flatMap(({ failures }) => failures),
    ({ test }) => test,
  )
  if (counts.size === 0) return head
  const rows = [...counts].toSorted(([, a], [, b]) => b.length - a.length)
  return `${head}\n\n${table(
    ['test', 'failures'],
    rows.map(([test, { length }]) => [test, String(length)]),
  )}`
}
