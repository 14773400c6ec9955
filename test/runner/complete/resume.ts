// What a complete run that did not come to its end, or failed, leaves to the next one.
import type { Ended } from './record.ts'

/** What a complete run keeps after each step. */
export interface Kept {
  /** Date, commit and cores of its first run, as the record has them. */
  readonly where: string
  /** Where laws have their cases from. */
  readonly seed: string
  readonly passed: readonly Ended[]
}

/**
 * What is kept in a text that a run of the same commit has left, on any day. Undefined: nothing, or of another commit or
 * machine, or of files that were changed since, whatever they were.
 */
export function kept(text: string | undefined, where: string): Kept | undefined {
  if (text === undefined || where.includes('with changes')) return undefined
  const state = JSON.parse(text) as Kept
  return withoutDate(state.where) === withoutDate(where) ? state : undefined
}

function withoutDate(where: string): string {
  return where.slice(where.indexOf(','))
}
