import { Context } from '@temporalio/activity'

/** Cancellation and heartbeats of the running activity; outside of Temporal (a test), a signal that never fires. */
export interface ActivityScope {
  readonly signal: AbortSignal
  /** Name of this attempt, unique among all attempts. */
  readonly attemptId: string
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
  if (context === undefined)
    return {
      signal: never,
      attemptId: `test-${Math.round(performance.now() * 1000)}`,
      activityKey: 'test',
      attempt: 1,
      isFirst: false,
    }
  const { info } = context
  const activityKey = `${info.workflowExecution?.runId ?? 'none'}/${info.activityId}`
  return {
    signal: context.cancellationSignal,
    attemptId: `${activityKey}/${info.attempt}`,
    activityKey,
    attempt: info.attempt,
    isFirst: info.attempt === 1,
  }
}

/** Returns the type of the activity that runs now; undefined outside of Temporal. */
export function activityName(): string | undefined {
  return currentContext()?.info.activityType
}

/**
 * Runs a wait with heartbeats, so that a dead worker is noticed within the heartbeat timeout and a cancellation arrives.
 * The interval is short: the SDK throttles what reaches the server.
 */
export async function withHeartbeats<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const context = currentContext()
  if (context === undefined) return work(never)
  const timer = setInterval(() => context.heartbeat(), 2000)
  context.heartbeat()
  try {
    return await work(context.cancellationSignal)
  } catch (error) {
    // A cancelled wait ends as cancelled, whatever the error of its interrupted request.
    if (context.cancellationSignal.aborted) await context.cancelled
    throw error
  } finally {
    clearInterval(timer)
  }
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
