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
