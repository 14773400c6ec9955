import { causeTitle } from '../../../core/disruption/verdicts/cause-text.ts'
import type { Move } from '../../../core/disruption/verdicts/verdict.ts'
import { type Pause, scopeOf } from '../../../core/pauses/pauses.ts'
import type { QuarantineEntry } from '../../../core/quarantine.ts'
import { timeText } from '../../../core/values/time.ts'

/** A pause as commands print it: with times instead of milliseconds. */
export function pauseJson(pause: Pause) {
  const { reason, by, sinceMs, untilMs } = pause
  return {
    scope: scopeOf(pause),
    reason,
    ...(by === undefined ? {} : { by }),
    since: new Date(sinceMs).toISOString(),
    ...(untilMs === undefined ? {} : { until: new Date(untilMs).toISOString() }),
  }
}

/** A quarantined object as commands print it. */
export function quarantineJson({ id, cause, sinceMs, untilMs }: QuarantineEntry) {
  return { object: id, since: timeText(sinceMs), until: timeText(untilMs), cause }
}

/** A move with the text of its cause, as people and scripts read it. */
export interface ShownMove extends Move {
  readonly message: string
}

/** Returns the move with the text of its cause. */
export function shownMove(move: Move): ShownMove {
  return { ...move, message: causeTitle(move.cause) }
}
