import { asyncLocalStorage } from '@temporalio/activity'

/** What Temporal says of an attempt. Default: it was scheduled just now, and no heartbeat was sent before. */
export interface AttemptInfo {
  readonly firstScheduledMs?: number
  readonly scheduledMs?: number
  readonly last?: unknown
  /** What the attempt sends. */
  readonly beats?: unknown[]
}

/** Runs work as this attempt of an activity, counted from 1; outside of one, activities take themselves for a later attempt. */
export function asAttempt<T>(attempt: number, work: () => Promise<T>, known: AttemptInfo = {}): Promise<T> {
  const { scheduledMs = Date.now(), firstScheduledMs = scheduledMs, last, beats } = known
  const context = {
    info: {
      attempt,
      activityId: 'activity',
      activityType: 'test',
      workflowExecution: { runId: 'run' },
      scheduledTimestampMs: firstScheduledMs,
      currentAttemptScheduledTimestampMs: scheduledMs,
      heartbeatDetails: last,
      retryPolicy: { initialInterval: 500, backoffCoefficient: 1.5, maximumInterval: 10_000 },
    },
    cancellationSignal: new AbortController().signal,
    cancelled: new Promise(() => {}),
    heartbeat: (details: unknown) => void beats?.push(details),
  }
  return asyncLocalStorage.run(context as never, work)
}
