import {
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client'
import type { UpdateDefinition } from '@temporalio/common'
import proto from '@temporalio/proto'
import type { PauseRequest, ResumeRequest } from '../../../core/pauses/pause-requests.ts'
import type { LoopName } from '../../../core/pauses/pauses.ts'
import { taskQueue } from '../../../core/task-queues.ts'
import { type PauseAnswer, pauseUpdate, resumeUpdate } from '../../../workflows/messages.ts'
import { CommandError, DryRun } from '../../document/reported-error.ts'
import { innermost as causeOf, loopId } from '../../picture/from-temporal.ts'
import type { TemporalAccess } from '../../temporal/connect.ts'

/** A loop answers within a second; longer means that nobody works for it. */
const answerMs = 10_000

/** What goes on while no worker carries workflows out (docs/recovery.md). */
const withoutWorkers = {
  disruption: 'nothing is begun',
  provisioning: 'pods get NodeClaims, and no VM is made',
} as const satisfies Readonly<Record<LoopName, string>>

/** What came of asking a loop to pause or resume. */
export type Asked =
  | { readonly kind: 'done'; readonly answer: PauseAnswer }
  /** Nobody answers for the loop now, and the request waits with Temporal as a signal; or the loop has it, and cannot carry it out. */
  | { readonly kind: 'waiting'; readonly message: string }

export type Asking =
  | { readonly what: 'pause'; readonly request: PauseRequest }
  | { readonly what: 'resume'; readonly request: ResumeRequest }

/** An update with what it asks for, and how long its answer is waited for. */
interface SentUpdate<Answer, Request> {
  readonly update: UpdateDefinition<Answer, [Request]>
  readonly request: Request
  readonly limitMs: number
}

/**
 * Asks a loop by an update and waits for its answer. When none comes in time the same request is left as a signal, which Temporal keeps: it
 * is then the first thing that the loop does. Carrying it out twice changes nothing. A loop that has it already, and fails to carry it out, needs no
 * signal. Errors: a refusal, and a loop that does not run.
 */
export async function askLoop(access: TemporalAccess, loop: LoopName, { what, request }: Asking): Promise<Asked> {
  const asked = requestTime()
  const answer =
    what === 'pause'
      ? await answerOf(access, loop, { update: pauseUpdate, request, limitMs: answerMs })
      : await answerOf(access, loop, { update: resumeUpdate, request, limitMs: answerMs })
  if (answer !== undefined) return { kind: 'done', answer }
  const { client, connection, cluster } = access
  const failing = await failingStep(access, loopId(cluster, loop), 'writePause')
  if (failing !== undefined)
    return {
      kind: 'waiting',
      message: `the ${what} is not in force: ${failing}. It is carried out once that succeeds; until then ${loop} goes on as before. Check: joiner status`,
    }
  const handle = client.workflow.getHandle(loopId(cluster, loop))
  // A brake holds however long the outage is; a resume must not lift what somebody pauses later.
  const left = what === 'pause' ? request : { ...request, at: asked }
  await connection.withDeadline(Date.now() + answerMs, () => handle.signal(what, left))
  return {
    kind: 'waiting',
    message:
      `${noAnswer(cluster, answerMs)} ` +
      `The ${what} waits with Temporal and is the first thing that the ${loop} loop does once a worker is back${what === 'pause' ? '' : ' within two minutes; later it is refused'}. While none is back, ${withoutWorkers[loop]}. ` +
      'Check: kubectl get pods --namespace joiner, then joiner status',
  }
}

/** The time of a request, as its payload has it. */
export function requestTime(): string {
  return new Date().toISOString()
}

/** Asks the disruption loop for what only its answer is worth; Ctrl-C ends the waiting and says so. Errors: a refusal, a loop that does not run, no answer in time. */
export async function askDisruption<Answer, Request>(
  access: TemporalAccess,
  sent: SentUpdate<Answer, Request>,
): Promise<Answer> {
  const stop = () => {
    console.error('interrupted; what was asked may be carried out all the same: joiner status says')
    process.exit(130)
  }
  process.once('SIGINT', stop)
  const answer = await answerOf(access, 'disruption', sent)
  process.off('SIGINT', stop)
  return inTime(access, sent, answer)
}

/** Does it in a process that goes on, where Ctrl-C is not about the request. */
export async function requestDisruption<Answer, Request>(
  access: TemporalAccess,
  sent: SentUpdate<Answer, Request>,
): Promise<Answer> {
  return inTime(access, sent, await answerOf(access, 'disruption', sent))
}

function inTime<Answer, Request>(
  { cluster }: TemporalAccess,
  { limitMs }: SentUpdate<Answer, Request>,
  answer: Answer | undefined,
): Answer {
  if (answer !== undefined) return answer
  throw new CommandError(
    `${noAnswer(cluster, limitMs)} Check: kubectl get pods --namespace joiner, then joiner status. It may still be carried out`,
  )
}

/** Undefined: no answer in time. Errors: a refusal, a loop that does not run. */
function answerOf<Answer, Request>(
  access: TemporalAccess,
  loop: LoopName,
  sent: SentUpdate<Answer, Request>,
): Promise<Answer | undefined> {
  const to = { workflowId: loopId(access.cluster, loop), missing: notRunning(access, loop) }
  return updateAnswer(access, to, sent)
}

/** Whom an update goes to, and what to say when nothing of that id runs. */
export interface Recipient {
  readonly workflowId: string
  readonly missing: string
}

/**
 * What a workflow answers to an update, which says when it was asked for; undefined: nothing in time. Errors: a refusal, a workflow that does not run, a dry run.
 */
export async function updateAnswer<Answer, Request>(
  { client, connection, isDry }: TemporalAccess,
  { workflowId, missing }: Recipient,
  { update, request, limitMs }: SentUpdate<Answer, Request>,
): Promise<Answer | undefined> {
  if (isDry === true)
    throw new DryRun(
      `dry run: nothing is changed. ${update.name} would go to workflow ${workflowId}: ${JSON.stringify(request)}`,
    )
  const handle = client.workflow.getHandle(workflowId)
  try {
    const dated = { ...request, at: requestTime() }
    return await connection.withDeadline(Date.now() + limitMs, () => handle.executeUpdate(update, { args: [dated] }))
  } catch (error) {
    if (error instanceof WorkflowUpdateFailedError) throw new CommandError(innermost(error))
    if (error instanceof WorkflowNotFoundError) throw new CommandError(missing)
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return undefined
    throw error
  }
}

/** What an update failed of, without what Temporal wraps it in. */
function innermost(error: Error): string {
  let inner = error
  while (inner.cause instanceof Error) inner = inner.cause
  return inner.message
}

/**
 * Returns why what a workflow was asked for is not done, though a worker has taken it: its step fails again and again, or has not ended. Undefined: no
 * worker has, as far as is known.
 */
export async function failingStep(
  { client, connection }: TemporalAccess,
  workflowId: string,
  step: string,
): Promise<string | undefined> {
  const describe = () => client.workflow.getHandle(workflowId).describe()
  const { raw } = await connection.withDeadline(Date.now() + answerMs, describe).catch(() => ({ raw: undefined }))
  const started = proto.temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
  const pending = raw?.pendingActivities?.find(
    ({ activityType, lastFailure, state }) => activityType?.name === step && (lastFailure || state === started),
  )
  if (pending === undefined) return undefined
  const { lastFailure, attempt } = pending
  return lastFailure ? `${step} fails, attempt ${attempt}: ${causeOf(lastFailure)}` : `${step} has not ended yet`
}

/** Why no answer came. */
export function noAnswer(cluster: string, limitMs: number): string {
  return `no worker answered on the task queues of cluster "${cluster}" (such as ${taskQueue('core', cluster)}) within ${limitMs / 1000} s.`
}

/** Why nobody can be asked. */
function notRunning({ cluster, namespace, address }: TemporalAccess, loop: LoopName): string {
  return (
    `the ${loop} loop of cluster "${cluster}" does not run in the namespace "${namespace}" of Temporal at ${address}. ` +
    'Check --cluster-name and --temporal-namespace; a running Joiner starts its loops again within 5 minutes: kubectl get pods --namespace joiner'
  )
}
