import type { WorkflowHandle } from '@temporalio/client'
import { ActivityCancellationType } from '@temporalio/common'
import { ParentClosePolicy } from '@temporalio/workflow'
import { type Act, nudge, type Row, signalWithStart } from './row.ts'
import { startRows } from './start-rows.ts'

const limited = { startToCloseTimeout: '20s' }
const called = (name: string, activity: string, options: object, arg: unknown = null): Row => ({
  name,
  workflow: 'call',
  args: [activity, { ...limited, ...options }, arg],
})
const locally = (name: string, activity: string, options: object, arg: unknown = null): Row => ({
  name,
  workflow: 'callLocally',
  args: [activity, { ...limited, ...options }, arg],
})
const quick = { initialInterval: '50ms', backoffCoefficient: 1 }
const update = (afterMs: number, text: string, options: { readonly updateId?: string } = {}): Act => ({
  afterMs,
  what: (handle) => handle.executeUpdate('change', { args: [text], ...options }),
})
const query = (afterMs: number, name: string): Act => ({
  afterMs,
  what: async (handle) => String(await handle.query(name)),
})
const ofChild = (afterMs: number, id: string, what: (child: WorkflowHandle) => Promise<unknown>): Act => ({
  afterMs,
  what: (_, { workflow }) => what(workflow.getHandle(`${id}/child`)),
})
/** The child is spoken to after its parent has gone. */
const orphaned = (name: string, policy: ParentClosePolicy, id: string): Row => ({
  name,
  workflow: 'endsFirst',
  args: [policy, id],
  acts: [ofChild(2500, id, (child) => child.signal('nudge')), ofChild(4500, id, (child) => child.result())],
})
const local = (name: string, type: ActivityCancellationType): Row => ({
  name,
  workflow: 'cancelLocalCall',
  args: [type],
})
const { TRY_CANCEL, WAIT_CANCELLATION_COMPLETED, ABANDON } = ActivityCancellationType
const cancelled = (name: string, type: ActivityCancellationType, activity: string): Row => ({
  name,
  workflow: 'cancelCall',
  args: [type, activity],
  acts: [nudge(2000)],
})

/** What Temporal promises, a row each: the simulated server and a real one must leave the same histories and give the same answers. */
export const rows: readonly Row[] = [
  called('an activity', 'echo', {}, 'hello'),
  called('an activity that fails for good', 'fail', {}, 'no'),
  called('an activity that is retried', 'failUntil', { retry: quick }, 3),
  called('an activity without attempts left', 'fail', { retry: { ...quick, maximumAttempts: 3 } }, 'no'),
  called('a failure that is not to be retried', 'failForGood', { retry: quick }),
  called(
    'a type of failure that is not to be retried',
    'failWithType',
    { retry: { ...quick, nonRetryableErrorTypes: ['Bad'] } },
    'Bad',
  ),
  called(
    'another type, which is',
    'failWithType',
    { retry: { ...quick, maximumAttempts: 2, nonRetryableErrorTypes: ['Bad'] } },
    'Good',
  ),
  called('a failure that names its delay', 'failWithDelay', { retry: { initialInterval: '20s' } }, 100),
  called('an attempt that takes too long', 'hang', { startToCloseTimeout: '500ms' }),
  called('an attempt that takes too long, and another', 'hangOnce', { startToCloseTimeout: '500ms', retry: quick }),
  called(
    'attempts until time is over',
    'fail',
    { scheduleToCloseTimeout: '3s', retry: { initialInterval: '2s', backoffCoefficient: 2 } },
    'no',
  ),
  called('an attempt when time is over', 'hang', { scheduleToCloseTimeout: '2s' }),
  called('an attempt without heartbeats', 'hang', { heartbeatTimeout: '600ms' }),
  called('heartbeats that stop, and what they said', 'heartbeatOnce', { heartbeatTimeout: '1s', retry: quick }),
  called('an activity that no worker takes', 'echo', { taskQueue: 'parity-deserted', scheduleToStartTimeout: '1s' }),
  { name: 'an activity without a slot', workflow: 'callTwice', args: [{ ...limited, scheduleToStartTimeout: '1s' }] },
  called('heartbeats faster than they are sent, then a failure', 'heartbeatTwice', {
    heartbeatTimeout: '10s',
    retry: quick,
  }),
  called('heartbeats faster than they are sent, then none', 'heartbeatTwiceAndHang', {
    heartbeatTimeout: '2s',
    retry: quick,
  }),
  cancelled('a cancellation that is not waited for, obeyed', TRY_CANCEL, 'obey'),
  cancelled('a cancellation that is not waited for, ignored', TRY_CANCEL, 'ignore'),
  cancelled('a cancellation that is waited for, obeyed', WAIT_CANCELLATION_COMPLETED, 'obey'),
  cancelled('a cancellation that is waited for, ignored', WAIT_CANCELLATION_COMPLETED, 'ignore'),
  cancelled('an activity that is abandoned', ABANDON, 'obey'),
  locally('a local activity', 'echo', {}, 'hello'),
  locally('a local activity that fails', 'fail', {}, 'no'),
  locally('a local activity that is retried', 'failUntil', { retry: quick }, 3),
  local('a local activity that is cancelled', TRY_CANCEL),
  local('a local activity whose cancellation is waited for', WAIT_CANCELLATION_COMPLETED),
  local('a local activity that is abandoned', ABANDON),
  { name: 'timers', workflow: 'timers', args: [] },
  { name: 'a timer of one task', workflow: 'elidedTimer', args: [] },
  {
    name: 'signals',
    workflow: 'collectSignals',
    args: [3],
    acts: [nudge(1000, 'a'), nudge(2500, 'b'), nudge(4000, 'c')],
  },
  {
    name: 'updates: done, refused, failed, slow',
    workflow: 'updatable',
    args: [],
    acts: [update(500, 'x'), update(2000, 'refuse'), update(3500, 'fail'), update(5000, 'slow'), update(7000, 'end')],
  },
  {
    name: 'an update of one id, twice',
    workflow: 'updatable',
    args: [],
    acts: [update(500, 'x', { updateId: 'one' }), update(2000, 'y', { updateId: 'one' }), update(3500, 'end')],
  },
  {
    name: 'an update without a handler',
    workflow: 'collectSignals',
    args: [1],
    acts: [update(1000, 'x'), nudge(4000, 'a')],
  },
  {
    name: 'a chain of runs',
    workflow: 'chain',
    args: [3, []],
    acts: [nudge(1000, 'a'), nudge(5000, 'b'), nudge(9000, 'c')],
  },
  {
    name: 'a signal in the task that continues as new',
    workflow: 'endsSlowly',
    args: ['continues', []],
    acts: [{ ...nudge(800, 'a'), isInTask: true }],
  },
  {
    name: 'a signal in the task that ends the workflow',
    workflow: 'endsSlowly',
    args: ['returns', []],
    acts: [{ ...nudge(800, 'a'), isInTask: true }],
  },
  {
    name: 'queries, of a run and of one that has ended',
    workflow: 'collectSignals',
    args: [2],
    acts: [nudge(1000, 'a'), query(2000, 'seen'), query(2500, 'other'), nudge(3000, 'b'), query(4500, 'seen')],
  },
  {
    name: 'messages to a run that has ended',
    workflow: 'updatable',
    args: [],
    acts: [
      update(500, 'end'),
      nudge(2000, 'a'),
      update(2500, 'x'),
      { afterMs: 3000, what: (handle) => handle.cancel() },
      { afterMs: 3500, what: (handle) => handle.terminate() },
      { afterMs: 4000, what: async (handle) => (await handle.describe()).status.name },
    ],
  },
  { name: 'a child', workflow: 'parent', args: ['completes', 'a-child'] },
  { name: 'a child that fails', workflow: 'parent', args: ['fails', 'a-failed-child'] },
  { name: 'a child of an id that runs', workflow: 'parent', args: ['exists', 'a-second-child'] },
  orphaned('a child that its parent leaves alone', ParentClosePolicy.ABANDON, 'a-left-child'),
  orphaned('a child that ends with its parent', ParentClosePolicy.TERMINATE, 'a-terminated-child'),
  { name: 'memo and patch', workflow: 'decorated', args: [] },
  {
    name: 'a cancelled workflow',
    workflow: 'untilCancelled',
    args: [],
    acts: [{ afterMs: 2000, what: (handle) => handle.cancel() }],
  },
  {
    name: 'a terminated workflow',
    workflow: 'untilCancelled',
    args: [],
    acts: [{ afterMs: 2000, what: (handle) => handle.terminate('enough') }],
  },
  {
    name: 'signal with start, twice',
    workflow: 'collectSignals',
    args: [3],
    acts: [signalWithStart(1000, 'a'), signalWithStart(2500, 'b'), nudge(4000, 'c')],
  },
  ...startRows,
]
