import proto from '@temporalio/proto'
import { type Job, normalQueue, payloadOf } from '../protocol.ts'
import type { Run } from '../run.ts'
import { limitsOf } from '../run-start.ts'
import { namespace } from '../workflow-host.ts'
import type { Carried, CommandServer } from './command-server.ts'

const { StartChildWorkflowExecutionFailedCause, ParentClosePolicy, RetryState } = proto.temporal.api.enums.v1
const noRetryPolicy = RetryState.RETRY_STATE_RETRY_POLICY_NOT_SET

const alreadyExists =
  proto.coresdk.child_workflow.StartChildWorkflowExecutionFailedCause
    .START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS

export function startChild(server: CommandServer, { run, command, add }: Carried): void {
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
    ...limitsOf(of.workflowRunTimeout, of.workflowExecutionTimeout),
  }
  const child = server.begin(start, { parent: run })
  run.children.set(of.seq ?? 0, child)
  followParent(server, { run, child, policy: of.parentClosePolicy })
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

/** Asks a child to end, for a parent that waits until it has: Core itself hears that it was asked, and the workflow what becomes of it. */
export function cancelChild(server: CommandServer, { run, command, add }: Carried): void {
  const { childWorkflowSeq, reason } = command.cancelChildWorkflowExecution ?? {}
  const child = run.children.get(childWorkflowSeq ?? 0)
  if (child?.isRunning !== true) return
  const workflowExecution = { workflowId: child.workflowId, runId: child.identity.runId }
  const initiatedEventId = add({
    requestCancelExternalWorkflowExecutionInitiatedEventAttributes: {
      namespace,
      workflowExecution,
      childWorkflowOnly: true,
      reason: reason ?? '',
    },
  }) as never
  server.cancelRun(child, reason ?? '')
  server.deliver(run, () => {
    run.history.add(server.clock.now(), {
      externalWorkflowExecutionCancelRequestedEventAttributes: { initiatedEventId, namespace, workflowExecution },
    })
    return undefined
  })
}

/** What becomes of a child when its parent ends. A run that continues its parent's has its children. */
function followParent(
  server: CommandServer,
  { run, child, policy }: { readonly run: Run; readonly child: Run; readonly policy: number | null | undefined },
): void {
  run.onClosed.push(() => {
    const next = run.status === 'continuedAsNew' ? server.current(run.workflowId) : undefined
    if (next !== undefined) followParent(server, { run: next, child, policy })
    else if (policy === ParentClosePolicy.PARENT_CLOSE_POLICY_REQUEST_CANCEL) server.cancelRun(child, byParent)
    else if (policy !== ParentClosePolicy.PARENT_CLOSE_POLICY_ABANDON) server.terminate(child, byParent)
  })
}

const byParent = 'by parent close policy'

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
  if (child.status === 'cancelled') {
    run.history.add(clock.now(), { childWorkflowExecutionCanceledEventAttributes: by })
    const failure = {
      message: 'Child Workflow execution canceled',
      cause: { canceledFailureInfo: {} },
      childWorkflowExecutionFailureInfo: { ...by, retryState: noRetryPolicy },
    }
    return { resolveChildWorkflowExecution: { seq, result: { cancelled: { failure } } } }
  }
  const cause = child.failure ?? { message: child.status }
  run.history.add(clock.now(), {
    childWorkflowExecutionFailedEventAttributes: { ...by, failure: cause, retryState: noRetryPolicy },
  })
  const failure = {
    message: 'Child Workflow execution failed',
    cause,
    childWorkflowExecutionFailureInfo: { ...by, retryState: noRetryPolicy },
  }
  return { resolveChildWorkflowExecution: { seq, result: { failed: { failure } } } }
}
