import { Context } from '@temporalio/activity'
import { type Beat, type Gap, gapsBefore, runsSince } from '../core/node-claim/time-away.ts'

/** Cancellation and heartbeats of the running activity; outside of Temporal (a test), a signal that never fires. */
export interface ActivityScope {
  readonly signal: AbortSignal
  /** Name of the activity, the same in all its attempts. */
  readonly activityKey: string
  /** Counted from 1. */
  readonly attempt: number
  /** Whether no earlier attempt can have left anything behind. */
  readonly isFirst: boolean
}

const never = new AbortController().signal

/** Returns the scope of the activity that runs now. */
export function activityScope(): ActivityScope {
  const context = currentContext()
  if (context === undefined) return { signal: never, activityKey: 'test', attempt: 1, isFirst: false }
  const { info } = context
  const activityKey = `${info.workflowExecution?.runId ?? 'none'}/${info.activityId}`
  return { signal: context.cancellationSignal, activityKey, attempt: info.attempt, isFirst: info.attempt === 1 }
}

interface RunningActivity {
  readonly type: string
  /** When it was scheduled, epoch ms. */
  readonly sinceMs: number
  readonly cancellation: AbortSignal
}

/** Returns the activity that runs now; undefined outside of Temporal. */
export function runningActivity(): RunningActivity | undefined {
  const context = currentContext()
  if (context === undefined) return undefined
  const { info, cancellationSignal } = context
  return { type: info.activityType, sinceMs: info.scheduledTimestampMs, cancellation: cancellationSignal }
}

/** The activity that runs now, as a step whose time is limited. Times are epoch milliseconds. */
export interface Step {
  /** Since when its time runs: when it was scheduled, before its first attempt. */
  readonly sinceMs: number
  /** When no worker could take it up or report it, since the step before. */
  readonly gaps: readonly Gap[]
  /** Delay before the next attempt, should this one fail without naming one. */
  readonly retryDelayMs: number
  /** Whether the attempt before this one has said how it failed. What one that was lost had sent may still take effect. */
  readonly followsFailure: boolean
}

interface StepTimes {
  /** When the step before ended. */
  readonly idleSinceMs?: number | undefined
  /** The clock by which limits are judged. Default: the machine's. */
  readonly now?: () => number
}

/**
 * Runs a wait with heartbeats, so that a dead worker is noticed within the heartbeat timeout and a cancellation arrives. The first comes after half of
 * it: each is an Action on Temporal Cloud, and most activities are over by then. The interval is short: the SDK throttles what reaches the server. Each
 * says what the next attempt must know of this one, should its worker be lost.
 */
export async function withHeartbeats<Result>(
  work: (signal: AbortSignal, step: Step) => Promise<Result>,
  { idleSinceMs, now = () => Date.now() }: StepTimes = {},
): Promise<Result> {
  const context = currentContext()
  if (context === undefined) return work(never, { sinceMs: now(), gaps: [], retryDelayMs: 0, followsFailure: false })
  const step = stepOf(context, { idleSinceMs, startedMs: now() })
  const beat = (end?: Pick<Beat, 'hasEnded'>) =>
    context.heartbeat({ atMs: now(), gaps: step.gaps, attempt: context.info.attempt, ...end } satisfies Beat)
  const everyMs = 2000
  const firstMs = Math.max((context.info.heartbeatTimeoutMs ?? 0) / 2, everyMs)
  let timer = setTimeout(() => {
    beat()
    timer = setInterval(beat, everyMs)
  }, firstMs)
  try {
    return await work(context.cancellationSignal, step)
  } catch (error) {
    // A cancelled wait ends as cancelled, whatever the error of its interrupted request.
    if (context.cancellationSignal.aborted) await context.cancelled
    // The failure carries it.
    beat({ hasEnded: true })
    throw error
  } finally {
    clearInterval(timer)
  }
}

function stepOf(
  { info }: Context,
  { idleSinceMs, startedMs }: { readonly idleSinceMs: number | undefined; readonly startedMs: number },
): Step {
  const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs, retryPolicy } = info
  const times = {
    attempt,
    firstScheduledMs: scheduledTimestampMs,
    scheduledMs: currentAttemptScheduledTimestampMs,
    startedMs,
  }
  const { initialInterval, backoffCoefficient = 1, maximumInterval } = retryPolicy ?? {}
  const last = beatOf(info.heartbeatDetails)
  const grown = Number(initialInterval ?? 0) * backoffCoefficient ** (attempt - 1)
  return {
    sinceMs: runsSince(times),
    gaps: gapsBefore(times, { idleSinceMs, last }),
    retryDelayMs: Math.min(grown, Number(maximumInterval ?? grown)),
    followsFailure: last?.hasEnded === true && last.attempt === attempt - 1,
  }
}

/** Returns what the last heartbeat said; undefined when there was none, or it was of an activity that did not know of gaps. */
function beatOf(details: unknown): Beat | undefined {
  const beat = details as Partial<Beat> | null | undefined
  return typeof beat?.atMs === 'number' && Array.isArray(beat.gaps) ? (beat as Beat) : undefined
}

/** Resolves after `ms`, or rejects as soon as the signal fires. */
export function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason instanceof Error ? signal.reason : new Error('cancelled'))
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

function currentContext(): Context | undefined {
  try {
    return Context.current()
  } catch {
    return undefined
  }
}
