import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Where and of what figures were taken: `2026-11-21, commit 0123abc, 2 cores`. */
export function circumstances(): string {
  const git = (...args: readonly string[]) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim()
  const changed = git('status', '--porcelain', '--untracked-files=no') === '' ? '' : ' with changes'
  const date = new Date().toISOString().slice(0, 10)
  return `${date}, commit ${git('rev-parse', '--short', 'HEAD')}${changed}, ${availableParallelism()} cores`
}

/** A Markdown table. The first column is text, the others are figures. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}

/** Milliseconds as seconds with as many digits as mean something. */
export function seconds(ms: number | undefined): string {
  if (ms === undefined) return ''
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
}

/** The smallest value that so many percent of all do not exceed (nearest rank). Errors: none of no values. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  const found = sorted[Math.max(Math.ceil((percent / 100) * sorted.length), 1) - 1]
  if (found === undefined) throw new Error('there is no percentile of no values')
  return found
}

/** Returns the greater of the two middle ones where their number is even. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** Milliseconds as tables show them. */
export const ms = (value: number) => value.toFixed(value < 10 ? 1 : 0)
