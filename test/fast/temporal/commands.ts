import proto from '@temporalio/proto'
import type { Clock } from '../virtual-clock.ts'
import type { Attributes } from './history.ts'
import { keywordList } from './history.ts'
import {
  type Command,
  commandKind,
  type Job,
  msOf,
  normalQueue,
  type Payload,
  payloadOf,
  type ScheduledActivity,
  valueOf,
} from './protocol.ts'
import type { PendingActivity, Run, RunStatus } from './run.ts'
import { namespace } from './workflow-host.ts'
import { cancelMarkers, reachesServer } from './workflow-tasks.ts'

const { StartChildWorkflowExecutionFailedCause, SignalExternalWorkflowExecutionFailedCause } =
  proto.temporal.api.enums.v1

const alreadyExists =
  proto.coresdk.child_workflow.StartChildWorkflowExecutionFailedCause
    .START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS

/** What a run begins with. */
export interface RunStart {
  readonly workflowType: string
  readonly workflowId: string
  readonly taskQueue: string
  readonly input: readonly Payload[]
  readonly memo: Record<string, Payload>
  readonly searchAttributes: Record<string, Payload>
}

export interface CommandServer {
  readonly clock: Clock
  deliver(run: Run, happen: () => Job | undefined): void
  schedule(run: Run, command: ScheduledActivity, scheduledEventId: number): void
  cancelActivity(run: Run, activity: PendingActivity): void
  current(workflowId: string): Run | undefined
  begin(start: RunStart, of: { readonly continued?: Run; readonly parent?: Run }): Run
  signal(run: Run, signal: { readonly signalName: string; readonly input: readonly Payload[] }): void
  close(run: Run, outcome: { readonly status: RunStatus } & Partial<Pick<Run, 'result' | 'failure'>>): void
}

interface Ids {
  readonly completedEventId: number
  readonly startedEventId: number
}

/** A command with the run it is for, and the event that it follows from. */
interface Carried {
  readonly run: Run
  readonly command: Command
  readonly ids: Ids
  readonly add: (attributes: Attributes) => number
}

type Handler = (server: CommandServer, carried: Carried) => void

/** The server takes a command of a committed workflow task. Errors: a command that no workflow of Joiner makes is not simulated. */
export function carryOut(
  server: CommandServer,
  run: Run,
  { command, ids }: { readonly command: Command; readonly ids: Ids },
): void {
  const kind = commandKind(command)
  const handler = handlers[kind]
  if (handler === undefined) throw new Error(`${run.workflowId}: the command ${kind} is not simulated`)
  const add = (attributes: Attributes) => {
    const [key = '', fields] = Object.entries(attributes)[0] ?? []
    const by = { ...fields, workflowTaskCompletedEventId: ids.completedEventId }
    return run.history.add(server.clock.now(), { [key]: by }, command.userMetadata)
  }
  handler(server, { run, command, ids, add })
}

const handlers: Partial<Record<ReturnType<typeof commandKind>, Handler>> = {
  scheduleActivity,
  requestCancelActivity,
  startTimer,
  cancelTimer,
  upsertWorkflowSearchAttributes: (_, { run, command, add }) => {
    const indexedFields = command.upsertWorkflowSearchAttributes?.searchAttributes?.indexedFields ?? {}
    run.searchAttributes = { ...run.searchAttributes, ...indexedFields }
    add({ upsertWorkflowSearchAttributesEventAttributes: { searchAttributes: { indexedFields } } })
  },
  modifyWorkflowProperties: (_, { run, command, add }) => {
    const { upsertedMemo } = command.modifyWorkflowProperties ?? {}
    run.memo = { ...run.memo, ...upsertedMemo?.fields }
    add({ workflowPropertiesModifiedEventAttributes: { upsertedMemo: upsertedMemo ?? null } })
  },
  setPatchMarker,
  startChildWorkflowExecution: startChild,
  signalExternalWorkflowExecution: signalExternal,
  updateResponse: answerUpdate,
  completeWorkflowExecution: (server, { run, command, add }) => {
    const { result } = command.completeWorkflowExecution ?? {}
    add({ workflowExecutionCompletedEventAttributes: result == null ? {} : { result: { payloads: [result] } } })
    server.close(run, { status: 'completed', result: valueOf(result) })
  },
  failWorkflowExecution: (server, { run, command, add }) => {
    const failure = command.failWorkflowExecution?.failure ?? {}
    add({ workflowExecutionFailedEventAttributes: { failure } })
    server.close(run, { status: 'failed', failure })
  },
  cancelWorkflowExecution: (server, { run, add }) => {
    add({ workflowExecutionCanceledEventAttributes: {} })
    server.close(run, { status: 'cancelled' })
  },
  continueAsNewWorkflowExecution: continueAsNew,
  // Both have left their markers, if any, when the workflow asked.
  scheduleLocalActivity: () => {},
  requestCancelLocalActivity: (_, { command, add }) => {
    const marker = cancelMarkers.get(command)
    if (marker !== undefined) add({ markerRecordedEventAttributes: marker })
  },
}

function scheduleActivity(server: CommandServer, { run, command, add }: Carried): void {
  const of = command.scheduleActivity ?? {}
  const scheduledEventId = add({
    activityTaskScheduledEventAttributes: {
      activityId: of.activityId ?? '',
      activityType: { name: of.activityType ?? '' },
      taskQueue: normalQueue(of.taskQueue ?? ''),
      input: { payloads: of.arguments ?? [] },
      scheduleToCloseTimeout: of.scheduleToCloseTimeout ?? null,
      startToCloseTimeout: of.startToCloseTimeout ?? null,
      heartbeatTimeout: of.heartbeatTimeout ?? null,
      retryPolicy: of.retryPolicy ?? null,
    },
  })
  server.schedule(run, of, scheduledEventId)
}

function requestCancelActivity(server: CommandServer, { run, command, add }: Carried): void {
  const activity = run.activities.get(command.requestCancelActivity?.seq ?? 0)
  if (activity === undefined || activity.isCancelRequested) return
  if (!reachesServer(activity)) {
    // Its outcome is no news any more.
    activity.isCancelRequested = true
    return
  }
  activity.cancelRequestedEventId = add({
    activityTaskCancelRequestedEventAttributes: { scheduledEventId: activity.scheduledEventId as never },
  })
  server.cancelActivity(run, activity)
}

function startTimer(server: CommandServer, { run, command, add }: Carried): void {
  const { seq, startToFireTimeout } = command.startTimer ?? {}
  const timerId = String(seq)
  const startedEventId = add({
    timerStartedEventAttributes: { timerId, startToFireTimeout: startToFireTimeout ?? null },
  })
  const { clock } = server
  const stop = clock.at(clock.now() + (msOf(startToFireTimeout) ?? 0), () => {
    run.timers.delete(seq ?? 0)
    server.deliver(run, () => {
      run.history.add(clock.now(), {
        timerFiredEventAttributes: { timerId, startedEventId: startedEventId as never },
      })
      return { fireTimer: { seq: seq ?? 0 } }
    })
  })
  run.timers.set(seq ?? 0, { startedEventId, stop })
}

function cancelTimer(_: CommandServer, { run, command, add }: Carried): void {
  const seq = command.cancelTimer?.seq ?? 0
  const timer = run.timers.get(seq)
  timer?.stop()
  run.timers.delete(seq)
  const startedEventId = (timer?.startedEventId ?? 0) as never
  add({ timerCanceledEventAttributes: { timerId: String(seq), startedEventId, identity: 'worker' } })
}

function setPatchMarker(_: CommandServer, { run, command, add }: Carried): void {
  const { patchId, deprecated } = command.setPatchMarker ?? {}
  const data = payloadOf({ id: patchId, deprecated: deprecated ?? false })
  const known = run.history.patches()
  add({ markerRecordedEventAttributes: { markerName: 'core_patch', details: { 'patch-data': { payloads: [data] } } } })
  const indexedFields = { TemporalChangeVersion: keywordList([...known, patchId ?? '']) }
  add({ upsertWorkflowSearchAttributesEventAttributes: { searchAttributes: { indexedFields } } })
}

function startChild(server: CommandServer, { run, command, add }: Carried): void {
  const of = command.startChildWorkflowExecution ?? {}
  const [workflowId, workflowType] = [of.workflowId ?? '', of.workflowType ?? '']
  const taskQueue = of.taskQueue || run.identity.taskQueue
  const initiatedEventId = add({
    startChildWorkflowExecutionInitiatedEventAttributes: {
      namespace,
      workflowId,
      workflowType: { name: workflowType },
      taskQueue: normalQueue(taskQueue),
      input: { payloads: of.input ?? [] },
      parentClosePolicy: of.parentClosePolicy as never,
      memo: { fields: of.memo ?? {} },
    },
  }) as never
  const known = { initiatedEventId, namespace, workflowType: { name: workflowType } }
  if (server.current(workflowId)?.isRunning === true) {
    const cause =
      StartChildWorkflowExecutionFailedCause.START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS
    return server.deliver(run, () => {
      run.history.add(server.clock.now(), {
        startChildWorkflowExecutionFailedEventAttributes: { ...known, workflowId, cause },
      })
      return {
        resolveChildWorkflowExecutionStart: {
          seq: of.seq ?? 0,
          failed: { workflowId, workflowType, cause: alreadyExists },
        },
      }
    })
  }
  const start = {
    workflowType,
    workflowId,
    taskQueue,
    input: of.input ?? [],
    memo: of.memo ?? {},
    searchAttributes: of.searchAttributes?.indexedFields ?? {},
  }
  const child = server.begin(start, { parent: run })
  const workflowExecution = { workflowId, runId: child.identity.runId }
  server.deliver(run, () => {
    run.history.add(server.clock.now(), {
      childWorkflowExecutionStartedEventAttributes: { ...known, workflowExecution },
    })
    return { resolveChildWorkflowExecutionStart: { seq: of.seq ?? 0, succeeded: { runId: child.identity.runId } } }
  })
  child.onClosed.push(() =>
    server.deliver(run, () =>
      childEnded(server, { run, child, seq: of.seq ?? 0, known: { ...known, workflowExecution } }),
    ),
  )
}

interface EndedChild {
  readonly run: Run
  readonly child: Run
  readonly seq: number
  readonly known: {
    readonly initiatedEventId: never
    readonly workflowExecution: { readonly workflowId: string; readonly runId: string }
  }
}

function childEnded({ clock }: CommandServer, { run, child, seq, known }: EndedChild): Job {
  const started = run.history.events.find(
    ({ childWorkflowExecutionStartedEventAttributes: one }) => one?.initiatedEventId === known.initiatedEventId,
  )
  const by = { ...known, startedEventId: started?.eventId as never }
  if (child.status === 'completed') {
    const result = payloadOf(child.result)
    run.history.add(clock.now(), {
      childWorkflowExecutionCompletedEventAttributes: { ...by, result: { payloads: [result] } },
    })
    return { resolveChildWorkflowExecution: { seq, result: { completed: { result } } } }
  }
  const retryState = proto.temporal.api.enums.v1.RetryState.RETRY_STATE_RETRY_POLICY_NOT_SET
  const cause = child.failure ?? { message: child.status }
  run.history.add(clock.now(), { childWorkflowExecutionFailedEventAttributes: { ...by, failure: cause, retryState } })
  const failure = {
    message: 'Child Workflow execution failed',
    cause,
    childWorkflowExecutionFailureInfo: { ...by, retryState },
  }
  return { resolveChildWorkflowExecution: { seq, result: { failed: { failure } } } }
}

function signalExternal(server: CommandServer, { run, command, add }: Carried): void {
  const of = command.signalExternalWorkflowExecution ?? {}
  const workflowId = of.workflowExecution?.workflowId || of.childWorkflowId || ''
  const workflowExecution = { workflowId }
  const initiatedEventId = add({
    signalExternalWorkflowExecutionInitiatedEventAttributes: {
      workflowExecution,
      signalName: of.signalName ?? '',
      input: { payloads: of.args ?? [] },
    },
  }) as never
  const target = server.current(workflowId)
  const seq = of.seq ?? 0
  if (target?.isRunning === true) {
    server.signal(target, { signalName: of.signalName ?? '', input: of.args ?? [] })
    return server.deliver(run, () => {
      run.history.add(server.clock.now(), {
        externalWorkflowExecutionSignaledEventAttributes: { initiatedEventId, workflowExecution },
      })
      return { resolveSignalExternalWorkflow: { seq } }
    })
  }
  const cause =
    SignalExternalWorkflowExecutionFailedCause.SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND
  server.deliver(run, () => {
    run.history.add(server.clock.now(), {
      signalExternalWorkflowExecutionFailedEventAttributes: { initiatedEventId, workflowExecution, cause },
    })
    return { resolveSignalExternalWorkflow: { seq, failure: { message: `no workflow ${workflowId} runs` } } }
  })
}

function answerUpdate({ clock }: CommandServer, { run, command, ids }: Carried): void {
  const { protocolInstanceId: id, accepted, rejected, completed } = command.updateResponse ?? {}
  const update = run.updates.get(id ?? '')
  if (update === undefined || id == null) return
  if (accepted != null)
    update.acceptedEventId = run.history.add(clock.now(), {
      workflowExecutionUpdateAcceptedEventAttributes: {
        protocolInstanceId: id,
        acceptedRequestMessageId: `${id}/request`,
        acceptedRequestSequencingEventId: (ids.startedEventId - 1) as never,
        acceptedRequest: update.request,
      },
    })
  if (rejected == null && completed == null) return
  const outcome = completed == null ? { failure: rejected ?? null } : { success: { payloads: [completed] } }
  if (update.acceptedEventId > 0)
    run.history.add(clock.now(), {
      workflowExecutionUpdateCompletedEventAttributes: {
        meta: { updateId: id, identity: 'client' },
        acceptedEventId: update.acceptedEventId as never,
        outcome,
      },
    })
  update.settle(outcome)
}

function continueAsNew(server: CommandServer, { run, command, add }: Carried): void {
  const of = command.continueAsNewWorkflowExecution ?? {}
  const next: RunStart = {
    workflowType: of.workflowType || run.identity.workflowType,
    workflowId: run.workflowId,
    taskQueue: of.taskQueue || run.identity.taskQueue,
    input: of.arguments ?? [],
    memo: Object.keys(of.memo ?? {}).length > 0 ? { ...of.memo } : startedMemo(run),
    searchAttributes: of.searchAttributes?.indexedFields ?? run.searchAttributes,
  }
  const begun = server.begin(next, { continued: run })
  add({
    workflowExecutionContinuedAsNewEventAttributes: {
      newExecutionRunId: begun.identity.runId,
      workflowType: { name: next.workflowType },
      taskQueue: normalQueue(next.taskQueue),
      input: { payloads: [...next.input] },
      memo: { fields: next.memo },
    },
  })
  server.close(run, { status: 'continuedAsNew' })
}

const startedMemo = ({ history }: Run): Record<string, Payload> =>
  history.of('workflowExecutionStartedEventAttributes')[0]?.memo?.fields ?? {}
