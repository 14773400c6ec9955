import { type Pause, scopeOf } from '../../../core/pauses/pauses.ts'

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
