// What an answer is made of and could not be read. Nothing that is not known is shown as none: commands say what is missing, why, and what to do.
import { timeText } from '../../core/values/time.ts'

/** A source that could not be read. */
export interface Missing {
  /** As an operator knows it: `pods`, `ConfigMap joiner-prices`, `Temporal`. */
  readonly what: string
  readonly why: string
  readonly remedy: string
  readonly isForbidden?: true
  /** Epoch ms: it was read before, and is shown as of then. */
  readonly asOfMs?: number
}

/** What a picture lacks. */
export interface Gaps {
  readonly missing: readonly Missing[]
  /** What was read and cannot be used, a line each with the remedy. */
  readonly damaged: readonly string[]
}

/** Returns what is missing, those of one reason on one line: `pods, nodes: no right to read it; ask for ...`. */
export function missingLines(missing: readonly Missing[]): readonly string[] {
  const groups = Map.groupBy(missing, ({ why, remedy, asOfMs }) =>
    [`${why}${asOfMs === undefined ? '' : `, shown as it was at ${timeText(asOfMs)}`}`, remedy].join('; '),
  )
  return [...groups].map(([said, group]) => {
    const names = [...new Set(group.map(({ what }) => what))].join(', ')
    return said.startsWith(`${names} `) ? said : `${names}: ${said}`
  })
}

/** Returns all that a picture lacks, a line each with the remedy. */
export function gapLines({ missing = [], damaged = [] }: Partial<Gaps>): readonly string[] {
  return [...missingLines(missing), ...damaged]
}
