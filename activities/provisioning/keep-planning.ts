import type { Logger } from 'pino'
import { pauseOf } from '../abortable-wait.ts'
import { FenceLostError } from './fence.ts'

/** Pause after the first failure; each next one in a row is half as long again, up to the longest. */
const retryMs = 500
const longestRetryMs = 10_000
/** Longer than the planner takes to see that another process has its Lease: two would take the fence from each other. */
const fenceLostMs = 2500

export interface Planning {
  /** What is planned, for the log. */
  readonly what: 'provisioning' | 'disruption'
  readonly log: Logger
  /** Fires when another process plans, or this one ends. */
  readonly signal: AbortSignal
}

/**
 * Keeps work going for as long as this process is the planner. A failure is logged, and the work starts again behind a new fence. `work` is told the
 * number of its attempt, and says when something went well.
 */
export async function keepPlanning(
  { what, log, signal }: Planning,
  work: (attempt: number, wentWell: () => void) => Promise<void>,
): Promise<void> {
  let failures = 0
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      await work(attempt, () => {
        failures = 0
      })
    } catch (error) {
      if (signal.aborted) return
      const isLost = error instanceof FenceLostError
      log[isLost ? 'info' : 'warn']({ err: error }, `${what} was interrupted, starting again`)
      const delayMs = Math.min(retryMs * 1.5 ** failures, longestRetryMs)
      failures += 1
      await pauseOf(isLost ? fenceLostMs : delayMs, signal)
    }
  }
}
