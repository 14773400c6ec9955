import type { CommandFacts, Life } from '../history/life.ts'
import { hourMs, type TimeRange } from './bill.ts'

/** The saving of a command is counted for so long at most: by then the pods are others, and nobody can say what would have been. */
const longestSavingMs = 24 * hourMs

/** What a command saved within a window. */
export interface Saving extends TimeRange {
  readonly command: CommandFacts
  /** USD; negative for a replacement that costs more, as drift makes them. */
  readonly usd: number
}

/**
 * Returns what each command that was done saved within a window: its savings an hour, from its end until the first of its replacements ends, for a day
 * at most. The longest saving comes first.
 */
export function savingsIn(
  commands: readonly CommandFacts[],
  lives: readonly Life[],
  window: TimeRange,
): readonly Saving[] {
  const ends = new Map(lives.map(({ nodeClaim, endedMs }) => [nodeClaim, endedMs]))
  return commands
    .flatMap((command) => {
      if (command.outcome !== 'done' || command.endedMs === undefined) return []
      const gone = command.replacements.map((name) => ends.get(name) ?? Number.POSITIVE_INFINITY)
      const fromMs = Math.max(command.endedMs, window.fromMs)
      const toMs = Math.min(window.toMs, command.endedMs + longestSavingMs, ...gone)
      return toMs > fromMs ? [{ command, fromMs, toMs, usd: (command.savings * (toMs - fromMs)) / hourMs }] : []
    })
    .toSorted((a, b) => b.usd - a.usd)
}
