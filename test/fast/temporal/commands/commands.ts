import proto from '@temporalio/proto'
import { type Attributes, keywordList } from '../history.ts'
import { type Command, commandKind, msOf, normalQueue, payloadOf, valueOf } from '../protocol.ts'
import type { Run } from '../run.ts'
import { type RunStart, startedMemo } from '../run-start.ts'
import { cancelMarkers } from '../workflow-tasks.ts'
import { cancelChild, startChild } from './child-commands.ts'
import type { Carried, CommandServer, Ids } from './command-server.ts'
import { reachesServer } from './task-commands.ts'

const { RetryState, SignalExternalWorkflowExecutionFailedCause } = proto.temporal.api.enums.v1

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
  cancelChildWorkflowExecution: cancelChild,
  signalExternalWorkflowExecution: signalExternal,
  updateResponse: answerUpdate,
  completeWorkflowExecution: (server, { run, command, add }) => {
    const { result } = command.completeWorkflowExecution ?? {}
    add({ workflowExecutionCompletedEventAttributes: result == null ? {} : { result: { payloads: [result] } } })
    server.close(run, { status: 'completed', result: valueOf(result) })
  },
  failWorkflowExecution: (server, { run, command, add }) => {
    const failure = command.failWorkflowExecution?.failure ?? {}
    add({
      workflowExecutionFailedEventAttributes: { failure, retryState: RetryState.RETRY_STATE_RETRY_POLICY_NOT_SET },
    })
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
    limits: { ...run.limits, runMs: msOf(of.workflowRunTimeout) ?? run.limits.runMs },
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
