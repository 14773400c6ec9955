import type { temporal } from '@temporalio/proto'
import proto from '@temporalio/proto'
import { timestamp } from '../protocol.ts'
import type { PendingActivity, Run } from '../run.ts'

const { PendingActivityInfo } = proto.temporal.api.workflow.v1
const {
  PENDING_ACTIVITY_STATE_SCHEDULED: scheduled,
  PENDING_ACTIVITY_STATE_STARTED: started,
  PENDING_ACTIVITY_STATE_CANCEL_REQUESTED: cancelRequested,
} = proto.temporal.api.enums.v1.PendingActivityState

/** What a description says of the activities of a run that are not over. */
export function pendingActivities({ activities }: Run): temporal.api.workflow.v1.IPendingActivityInfo[] {
  return [...activities.values()].filter(({ isOver }) => !isOver).map(infoOf)
}

function infoOf(activity: PendingActivity): temporal.api.workflow.v1.IPendingActivityInfo {
  const { command, attempt, lastFailure, isWaiting, isCancelRequested, nextAttemptMs, lastWorker } = activity
  return PendingActivityInfo.fromObject({
    activityId: command.activityId,
    activityType: { name: command.activityType },
    state: isWaiting ? scheduled : isCancelRequested ? cancelRequested : started,
    attempt,
    scheduledTime: timestamp(activity.attemptScheduledMs),
    ...(lastWorker === undefined ? {} : { lastWorkerIdentity: lastWorker }),
    ...(lastFailure === undefined ? {} : { lastFailure }),
    ...(nextAttemptMs === undefined ? {} : { nextAttemptScheduleTime: timestamp(nextAttemptMs) }),
  })
}
