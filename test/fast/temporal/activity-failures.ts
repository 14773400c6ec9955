import type { temporal } from '@temporalio/proto'
import proto from '@temporalio/proto'
import { type Failure, type Payload, payloadOf } from './protocol.ts'
import type { PendingActivity } from './run.ts'

const { RetryState, TimeoutType } = proto.temporal.api.enums.v1

export type ActivityTimeout = 'scheduleToStart' | 'startToClose' | 'scheduleToClose' | 'heartbeat'

const timeouts = {
  scheduleToStart: { name: 'ScheduleToStart', type: TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START },
  startToClose: { name: 'StartToClose', type: TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE },
  heartbeat: { name: 'Heartbeat', type: TimeoutType.TIMEOUT_TYPE_HEARTBEAT },
} as const

export function timeoutFailure(timeout: Exclude<ActivityTimeout, 'scheduleToClose'>): Failure {
  const { name, type } = timeouts[timeout]
  return { message: `activity ${name} timeout`, source: 'Server', timeoutFailureInfo: { timeoutType: type } }
}

/** The failure of an activity whose whole time is over, or whose next attempt would begin after it. `cause`: the last attempt's. */
export function timeIsOver(cause: Failure | undefined): Failure {
  return {
    message: 'Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying',
    source: 'Server',
    timeoutFailureInfo: { timeoutType: TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE },
    ...(cause === undefined ? {} : { cause }),
  }
}

/** Why no further attempt follows a failure; undefined when one does. */
export type NoRetry = 'nonRetryable' | 'tooLate' | 'noAttemptsLeft' | 'cancelRequested'

const retryStates = {
  nonRetryable: RetryState.RETRY_STATE_NON_RETRYABLE_FAILURE,
  tooLate: RetryState.RETRY_STATE_TIMEOUT,
  noAttemptsLeft: RetryState.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED,
  cancelRequested: RetryState.RETRY_STATE_CANCEL_REQUESTED,
} as const

/** The failure that a workflow gets of an activity: what happened, as the cause. */
export function activityFailure({ command }: PendingActivity, cause: Failure, noRetry: NoRetry): Failure {
  return {
    message: cause.timeoutFailureInfo == null ? 'Activity task failed' : 'Activity task timed out',
    cause,
    activityFailureInfo: {
      activityType: { name: command.activityType ?? '' },
      activityId: command.activityId ?? '',
      identity: 'server',
      retryState: retryStates[noRetry],
    },
  }
}

const cancelled = (isLocal: boolean): Failure => ({
  ...(isLocal ? { message: 'Activity cancelled' } : {}),
  canceledFailureInfo: {},
})

/** `own`: as the attempt ended, of which the server keeps nothing. */
export function cancelledFailure({ command, isLocal }: PendingActivity, own = cancelled(isLocal)): Failure {
  return {
    message: `${isLocal ? 'Local ' : ''}Activity cancelled`,
    source: 'CoreSDK',
    cause: isLocal ? own : cancelled(isLocal),
    activityFailureInfo: {
      activityType: { name: command.activityType ?? '' },
      activityId: command.activityId ?? '',
      identity: 'server',
      retryState: RetryState.RETRY_STATE_IN_PROGRESS,
    },
  }
}

const jsonTime = (ms: number) => ({ seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 })

/** The marker that Core records of a local activity's outcome, or of its cancellation, which has no time of completion. */
export function localActivityMarker(
  { command, attempt, scheduledMs }: PendingActivity,
  outcome:
    | { readonly result: Payload | undefined; readonly atMs: number }
    | { readonly failure: Failure; readonly atMs?: number },
): temporal.api.history.v1.IMarkerRecordedEventAttributes {
  const data = payloadOf({
    seq: command.seq,
    attempt,
    activity_id: command.activityId,
    activity_type: command.activityType,
    complete_time: outcome.atMs === undefined ? null : jsonTime(outcome.atMs),
    backoff: null,
    original_schedule_time: jsonTime(scheduledMs),
  })
  const details = { data: { payloads: [data] } }
  if ('failure' in outcome) {
    const { failure } = outcome
    // Without the activity that it happened to, and so it is replayed.
    const bare = failure.activityFailureInfo == null ? failure : (failure.cause ?? null)
    return { markerName: 'core_local_activity', details, failure: bare }
  }
  const payloads = outcome.result === undefined ? [] : [outcome.result]
  return { markerName: 'core_local_activity', details: { ...details, result: { payloads } } }
}

/** The marker of a local activity that its workflow cancelled. */
export const cancelledLocalActivityMarker = (activity: PendingActivity) =>
  localActivityMarker(activity, { failure: cancelled(true) })
