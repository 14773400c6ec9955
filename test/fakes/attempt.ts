import { asyncLocalStorage } from '@temporalio/activity'

/** Runs work as this attempt of an activity, counted from 1; outside of one, activities take themselves for a later attempt. */
export function asAttempt<T>(attempt: number, work: () => Promise<T>): Promise<T> {
  const context = {
    info: { attempt, activityId: 'activity', activityType: 'test', workflowExecution: { runId: 'run' } },
    cancellationSignal: new AbortController().signal,
    cancelled: new Promise(() => {}),
    heartbeat: () => {},
  }
  return asyncLocalStorage.run(context as never, work)
}
