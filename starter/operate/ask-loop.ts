import {
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client'
import type { PauseRequest, ResumeRequest } from '../../core/pause-requests.ts'
import type { LoopName } from '../../core/pauses.ts'
import { singletonIds, taskQueue } from '../../core/task-queues.ts'
import { type PauseAnswer, pauseUpdate, resumeUpdate } from '../../workflows/messages.ts'
import type { TemporalAccess } from './temporal-access.ts'
import { CommandError } from './temporal-options.ts'

/** A loop answers within a second; longer means that nobody works for it. */
const answerMs = 10_000

/** What came of asking a loop to pause or resume. */
export type Asked =
  | { readonly kind: 'done'; readonly answer: PauseAnswer }
  /** Nobody answers for the loop now. The request waits with Temporal as a signal. */
  | { readonly kind: 'waiting'; readonly message: string }

export type Asking =
  | { readonly what: 'pause'; readonly request: PauseRequest }
  | { readonly what: 'resume'; readonly request: ResumeRequest }

export function loopId(cluster: string, loop: LoopName): string {
  return loop === 'provisioning' ? singletonIds.provisioningLoop(cluster) : singletonIds.disruptionLoop(cluster)
}

/**
 * Asks a loop by an update and waits for its answer. When none comes in time the same request is left as a signal, which Temporal keeps: it
 * is then the first thing that the loop does. Carrying it out twice changes nothing. Errors: a refusal, and a loop that does not run.
 */
export async function askLoop(access: TemporalAccess, loop: LoopName, { what, request }: Asking): Promise<Asked> {
  const { client, connection, cluster } = access
  const handle = client.workflow.getHandle(loopId(cluster, loop))
  const limited = <T>(work: () => Promise<T>) => connection.withDeadline(Date.now() + answerMs, work)
  try {
    const answer = await limited(() =>
      what === 'pause'
        ? handle.executeUpdate(pauseUpdate, { args: [request] })
        : handle.executeUpdate(resumeUpdate, { args: [request] }),
    )
    return { kind: 'done', answer }
  } catch (error) {
    if (error instanceof WorkflowUpdateFailedError) throw new CommandError(error.cause?.message ?? error.message)
    if (error instanceof WorkflowNotFoundError) throw new CommandError(notRunning(access, loop))
    if (!(error instanceof WorkflowUpdateRPCTimeoutOrCancelledError)) throw error
  }
  await limited(() => handle.signal(what, request))
  return {
    kind: 'waiting',
    message:
      `no worker answered on the task queue ${taskQueue('core', cluster)} within ${answerMs / 1000} s. ` +
      `The ${what} waits with Temporal and is the first thing that the ${loop} loop does once a worker is back; while none is, nothing is begun. ` +
      'Check: kubectl get pods --namespace joiner, then joiner status',
  }
}

/** Why nobody can be asked. */
function notRunning({ cluster, namespace, address }: TemporalAccess, loop: LoopName): string {
  return (
    `the ${loop} loop of cluster "${cluster}" does not run in the namespace "${namespace}" of Temporal at ${address}. ` +
    'Check --cluster and --temporal-namespace; a running Joiner starts its loops again within 5 minutes: kubectl get pods --namespace joiner'
  )
}
