import type { Line } from '../../document/document.ts'
import type { CheckResult, Status } from './check.ts'

const marks: Readonly<Record<Status, string>> = { ok: '✓', warn: '!', fail: '✗' }

/** One finding for people: what was found, what lies behind it, and what to run. */
export function findingLines({ name, status, summary, details = [], remedies = [] }: CheckResult): readonly Line[] {
  const style = ({ ok: 'green', warn: 'yellow', fail: 'red' } as const)[status]
  return [
    [{ text: `${marks[status]} ${status.padEnd(4)}`, style }, ' ', { text: name, style: 'bold' }, `: ${summary}`],
    ...details.map((detail) => `       ${detail}`),
    ...remedies.map((remedy): Line => ['       ', { text: '->', style: 'cyan' }, ` ${remedy}`]),
  ]
}

/** How it went, in one line. */
export function summaryText(results: readonly CheckResult[]): string {
  const count = (status: Status) => results.filter((result) => result.status === status).length
  const total = `${results.length} checks: ${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed`
  return count('fail') === 0 ? total : `${total}. Mend what failed by the lines after ->, and run joiner doctor again.`
}

/** The findings for programs. */
export function asJson(results: readonly CheckResult[]) {
  const checks = results.map(({ name, status, summary, details = [], remedies = [], ms }) => ({
    name,
    status,
    summary,
    details,
    remedies,
    ms,
  }))
  return { healthy: results.every(({ status }) => status !== 'fail'), checks }
}
