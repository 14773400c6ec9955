import pc from 'picocolors'
import { printable } from '../../../core/values/printable.ts'
import type { CheckResult, Status } from './check.ts'

const marks: Readonly<Record<Status, string>> = { ok: '✓', warn: '!', fail: '✗' }

type Colors = ReturnType<typeof pc.createColors>

/** One finding as text with colours: what was found, what lies behind it, and what to run. What others have written stays on its line. */
export function findingText(
  { name, status, summary, details = [], remedies = [] }: CheckResult,
  colors: Colors,
): string {
  const paint = { ok: colors.green, warn: colors.yellow, fail: colors.red }[status]
  const lines = [`${paint(`${marks[status]} ${status.padEnd(4)}`)} ${colors.bold(name)}: ${printable(summary)}`]
  lines.push(...details.map((detail) => `       ${printable(detail)}`))
  lines.push(...remedies.map((remedy) => `       ${colors.cyan('->')} ${printable(remedy)}`))
  return lines.join('\n')
}

/** How it went, in one line. */
export function summaryText(results: readonly CheckResult[]): string {
  const count = (status: Status) => results.filter((result) => result.status === status).length
  const total = `${results.length} checks: ${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed`
  return count('fail') === 0 ? total : `${total}. Mend what failed by the lines after ->, and run joiner doctor again.`
}

/** The findings for programs. */
export function asJson(results: readonly CheckResult[]): object {
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
