import proto from '@temporalio/proto'
import { expect, test } from 'vitest'
import { activityTroubles } from './from-temporal.ts'

const { PENDING_ACTIVITY_STATE_STARTED: started, PENDING_ACTIVITY_STATE_SCHEDULED: scheduled } =
  proto.temporal.api.enums.v1.PendingActivityState
const time = (seconds: number) => proto.google.protobuf.Timestamp.fromObject({ seconds })
const failing = (more: object) =>
  activityTroubles({
    pendingActivities: [
      proto.temporal.api.workflow.v1.PendingActivityInfo.fromObject({
        activityType: { name: 'nextProvisioning' },
        attempt: 6,
        lastFailure: { message: 'activity Heartbeat timeout' },
        ...more,
      }),
    ],
  })
const broken = ['nextProvisioning fails, attempt 6: activity Heartbeat timeout']

test.each([
  ['waits for its next attempt', { state: scheduled }, broken],
  ['is tried and has given no sign yet', { state: started, lastStartedTime: time(100) }, broken],
  [
    'gave its last sign before this attempt',
    { state: started, lastStartedTime: time(100), lastHeartbeatTime: time(90) },
    broken,
  ],
  ['works again', { state: started, lastStartedTime: time(100), lastHeartbeatTime: time(101) }, []],
] as const)('an activity that %s', (_, more, expected) => {
  expect(failing(more)).toEqual(expected)
})
