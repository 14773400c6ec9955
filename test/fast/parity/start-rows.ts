import {
  type Client,
  WithStartWorkflowOperation,
  type WorkflowHandle,
  type WorkflowStartOptions,
} from '@temporalio/client'
import { WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from '@temporalio/common'
import { type Act, nudge, type Row, signalWithStart } from './row.ts'

const { FAIL, USE_EXISTING, TERMINATE_EXISTING } = WorkflowIdConflictPolicy
const { ALLOW_DUPLICATE, ALLOW_DUPLICATE_FAILED_ONLY, REJECT_DUPLICATE } = WorkflowIdReusePolicy

const taskQueue = 'parity'

const startAgain = (afterMs: number, policy: Partial<WorkflowStartOptions> = {}): Act => ({
  afterMs,
  what: ({ workflowId }, { workflow }) =>
    workflow.start('collectSignals', { workflowId, taskQueue, args: [1], ...policy }),
})

/** An update of a workflow that is started if it does not run. */
const updateWithStart = (afterMs: number, text: string, workflowIdConflictPolicy: 'USE_EXISTING' | 'FAIL'): Act => ({
  afterMs,
  what: ({ workflowId }, { workflow }) => {
    const startWorkflowOperation = new WithStartWorkflowOperation('updatable', {
      workflowId,
      taskQueue,
      args: [],
      workflowIdConflictPolicy,
    })
    return workflow.executeUpdateWithStart('change', { args: [text], startWorkflowOperation })
  },
})

/** Takes a workflow back to the start of its latest finished workflow task. */
const reset = (afterMs: number): Act => ({
  afterMs,
  what: async (handle, client) => {
    const { runId } = await handle.describe()
    const { events } = await client.workflow.getHandle(handle.workflowId, runId).fetchHistory()
    const last = events?.findLast((event) => event.workflowTaskCompletedEventAttributes != null)
    await client.workflowService.resetWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: handle.workflowId, runId },
      reason: 'once more',
      workflowTaskFinishEventId: last?.eventId ?? null,
      requestId: `reset at ${afterMs}`,
    })
  },
})

const count = async ({ workflowId }: WorkflowHandle, { workflow }: Client, condition: string) => {
  const found = await workflow.count(`WorkflowId = '${workflowId}'${condition}`)
  return found.count
}

const counted = (afterMs: number, condition = ''): Act => ({
  afterMs,
  what: (handle, client) => count(handle, client, condition),
})

const ofRunning = (name: string, workflowIdConflictPolicy: WorkflowIdConflictPolicy): Row => ({
  name,
  workflow: 'collectSignals',
  args: [1],
  acts: [startAgain(1500, { workflowIdConflictPolicy }), nudge(3500, 'a')],
})

/** Starts again once the first run has ended. */
const ofEnded = (name: string, workflow: 'collectSignals' | 'fails', policy: WorkflowIdReusePolicy): Row => ({
  name,
  workflow,
  args: workflow === 'fails' ? [] : [1],
  acts: [
    ...(workflow === 'fails' ? [] : [nudge(1000, 'a')]),
    startAgain(2500, { workflowIdReusePolicy: policy }),
    nudge(4000, 'b'),
  ],
})

/** How runs begin and end: policies of ids, time limits, resets, and what lists show of them. */
export const startRows: readonly Row[] = [
  ofRunning('a second start, refused', FAIL),
  ofRunning('a second start, which finds the first', USE_EXISTING),
  ofRunning('a second start, which ends the first', TERMINATE_EXISTING),
  ofEnded('an id again', 'collectSignals', ALLOW_DUPLICATE),
  ofEnded('an id again, refused', 'collectSignals', REJECT_DUPLICATE),
  ofEnded('an id again after success, for failed ones only', 'collectSignals', ALLOW_DUPLICATE_FAILED_ONLY),
  ofEnded('an id again after a failure, for failed ones only', 'fails', ALLOW_DUPLICATE_FAILED_ONLY),
  {
    name: 'signal with start after an end',
    workflow: 'collectSignals',
    args: [1],
    acts: [nudge(1000, 'a'), signalWithStart(2500, 'b'), nudge(4000, 'c'), nudge(5000, 'd')],
  },
  {
    name: 'update with start of a workflow that runs',
    workflow: 'updatable',
    args: [],
    acts: [
      updateWithStart(1000, 'x', 'USE_EXISTING'),
      updateWithStart(2500, 'y', 'FAIL'),
      updateWithStart(4000, 'refuse', 'USE_EXISTING'),
      updateWithStart(5500, 'end', 'USE_EXISTING'),
    ],
  },
  {
    name: 'update with start of a workflow that has ended',
    workflow: 'fails',
    args: [],
    acts: [updateWithStart(1500, 'x', 'USE_EXISTING'), updateWithStart(3000, 'end', 'USE_EXISTING')],
  },
  {
    name: 'a run that takes too long',
    workflow: 'untilCancelled',
    args: [],
    options: { workflowRunTimeout: '5s' },
  },
  {
    name: 'a chain that takes too long',
    workflow: 'chain',
    args: [3, []],
    options: { workflowExecutionTimeout: '6s' },
    acts: [nudge(1000, 'a'), nudge(3000, 'b'), nudge(9000, 'c')],
  },
  {
    name: 'a chain whose runs take long enough each',
    workflow: 'chain',
    args: [3, []],
    options: { workflowRunTimeout: '5s' },
    acts: [nudge(2000, 'a'), nudge(4500, 'b'), nudge(7500, 'c')],
  },
  {
    name: 'a reset to the first task, with later signals',
    workflow: 'collectSignals',
    args: [2],
    acts: [reset(1500), nudge(3000, 'a'), nudge(4500, 'b')],
  },
  {
    name: 'a reset to a later task',
    workflow: 'collectSignals',
    args: [3],
    acts: [nudge(1000, 'a'), nudge(2000, 'b'), reset(3500), nudge(5000, 'c')],
  },
  {
    name: 'lists and counts',
    workflow: 'chain',
    args: [2, []],
    acts: [
      counted(2000, " AND ExecutionStatus = 'Running'"),
      nudge(3000, 'a'),
      counted(6000, " AND ExecutionStatus = 'Running'"),
      counted(6001, " AND ExecutionStatus = 'ContinuedAsNew'"),
      nudge(7000, 'b'),
      counted(9500),
      counted(9501, " AND (ExecutionStatus = 'Running' OR ExecutionStatus = 'Completed')"),
      counted(9502, " AND WorkflowType = 'chain' AND WorkflowId STARTS_WITH 'parity/lists'"),
      counted(9503, " AND ExecutionStatus IN ('Failed', 'Terminated')"),
    ],
  },
]
