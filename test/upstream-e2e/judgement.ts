// Which specs may fail or skip themselves, and what that makes of a run.
import { readFileSync } from 'node:fs'
import type { Result, Spec } from './specs.ts'

/** A spec that does not pass, by decision. */
export interface Expected {
  readonly spec: string
  readonly outcome: 'failed' | 'skipped'
  /** Place and beginning of the assertion that fails, or of what the spec says when it skips itself. */
  readonly why: string
  /** The decision, or what makes the spec skip itself. */
  readonly reason: string
}

/** Expected failures in the functional suites, at most. */
export const mostExpectedFailures = 1

/** What expected.json holds. Errors: it expects more failures than there may be. */
export function expectations(): readonly Expected[] {
  const expected = JSON.parse(readFileSync(new URL('./expected.json', import.meta.url), 'utf8')) as readonly Expected[]
  const failures = expected.filter(({ outcome }) => outcome === 'failed')
  if (failures.length > mostExpectedFailures)
    throw new Error(`expected.json expects ${failures.length} failures; there may be ${mostExpectedFailures}`)
  return expected
}

/** Returns a line for each spec that ended otherwise than expected. */
export function problemsOf(results: readonly Result[], expected: readonly Expected[]): readonly string[] {
  return results.flatMap(({ spec: { name }, outcome, why }) => {
    const entry = expected.find(({ spec }) => spec === name)
    if (entry === undefined) return outcome === 'passed' ? [] : [`${outcome}: ${name}: ${why}`]
    if (outcome === 'passed')
      return [`passed, though expected.json says "${entry.outcome}" (${entry.reason}); take it out: ${name}`]
    if (outcome !== entry.outcome) return [`${outcome}, though expected.json says "${entry.outcome}": ${name}: ${why}`]
    return why.startsWith(entry.why) ? [] : [`${outcome} for another reason than expected.json says: ${name}: ${why}`]
  })
}

/** Returns a line for each expectation of a spec that the suites do not have. */
export function unknownSpecs(specs: readonly Spec[], expected: readonly Expected[]): readonly string[] {
  const names = new Set(specs.map(({ name }) => name))
  return expected.flatMap(({ spec }) => (names.has(spec) ? [] : [`expected.json names no spec of the suites: ${spec}`]))
}
