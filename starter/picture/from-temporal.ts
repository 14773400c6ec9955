// Parts of a picture that Temporal reports.
import { WorkflowNotFoundError } from '@temporalio/client'
import proto from '@temporalio/proto'
import { listRuns } from '../../activities/workflow-runs.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { type LoopName, type Pause, wholeLoop } from '../../core/pauses/pauses.ts'
import { disruptionCommandId, singletonIds, type TaskQueueRole, taskQueue } from '../../core/task-queues.ts'
import { runningCommands } from '../../core/workflow-queries.ts'
import { commandStatusQuery, type LoopStatus, loopStatusQuery } from '../../workflows/messages.ts'

import type { TemporalAccess } from '../temporal/connect.ts'
import { MissingKeyError } from '../temporal/encryption.ts'
import { unreadable } from '../temporal/findings/finding.ts'
import { lookOnce, type ReadClaims } from '../temporal/findings/look.ts'
import { type Missing } from './gaps.ts'
import { SourceError } from './missing.ts'
import type { ClusterPicture, Moment, Part } from './picture.ts'

const readMs = 15_000
/** After Temporal's own. */
const limitMs = readMs + 5000
/** A loop answers at once; longer means that nobody works for it. */
const queryMs = 3000
/** A poll lasts a minute; who has not asked again by then is gone. */
export const pollerMs = 90_000
const roles = ['core', 'wait', 'azure', 'plan', 'maintenance'] as const
/** A retry or two are the day's work; more are worth a line. */
const manyAttempts = 3
/** Commands that are asked what they do. */
const mostAsked = 100

/** One loop, as Temporal and the loop itself report it. */
export interface LoopReport {
  readonly loop: LoopName
  /** `silent`: it runs, and no worker answers for it. */
  readonly state: 'running' | 'silent' | 'not running' | 'not read'
  readonly doing?: string
  /** Epoch ms. */
  readonly sinceMs?: number
  /** What it says of its pauses, of every scope; absent: it does not answer. */
  readonly pauses?: readonly Pause[]
  /** What Temporal tries again and again, in words. */
  readonly troubles: readonly string[]
}

export interface CommandReport {
  readonly id: string
  readonly startedMs: number
  /** Absent: no worker answered. */
  readonly doing?: string
  readonly candidates: readonly string[]
}

export interface QueueReport {
  readonly role: TaskQueueRole
  readonly queue: string
  /** Workers that ask for work now. */
  readonly workers: number
}

/** Where and when Temporal is asked. */
export interface TemporalScene extends Moment {
  readonly access: TemporalAccess
}

/** Returns that nothing of Temporal could be read, since no connection came about. `message`: why and what to do, in lines. */
export function temporalMissing(message: string): Missing {
  const [why = '', ...remedies] = message.trim().split('\n')
  const remedy = remedies.map((line) => line.trim()).join('; ')
  return { what: 'Temporal', why, remedy: remedy || 'joiner doctor looks at Temporal' }
}

/** Returns a part that Temporal reports, in a few seconds. */
function reported<T>(what: string, read: (scene: TemporalScene) => Promise<T>): Part<T, TemporalScene> {
  return {
    what,
    limitMs,
    read: async (scene) => {
      try {
        return await scene.access.connection.withDeadline(Date.now() + readMs, () => read(scene))
      } catch (error) {
        const { detail = '', remedy } = unreadable(what, error)
        throw new SourceError(detail, remedy)
      }
    },
  }
}

/** What Joiner does. `claims`: undefined where they could not be read; `again` reads them once more. */
export const temporalStatus = (claims: readonly NodeClaim[] | undefined, again: ReadClaims) => ({
  loops: reported('loops', (scene) => Promise.all([readLoop('provisioning', scene), readLoop('disruption', scene)])),
  /** Those that are under way. */
  commands: reported('disruption commands', readCommands),
  queues: reported('task queues', (scene) => Promise.all(roles.map((role) => readQueue(role, scene)))),
  /** What is not as it should be. */
  findings: reported('what is wrong in Temporal', ({ access: { client, cluster }, now }) =>
    lookOnce({ client, cluster, now: () => now }, claims, again),
  ),
})
export type TemporalStatus = ClusterPicture<ReturnType<typeof temporalStatus>>

async function readLoop(loop: LoopName, { access, now }: TemporalScene): Promise<LoopReport> {
  const { client, connection, cluster } = access
  const handle = client.workflow.getHandle(loopId(cluster, loop))
  const gone = { loop, state: 'not running', troubles: [] } as const
  try {
    const { status, raw } = await handle.describe()
    if (status.name !== 'RUNNING') return gone
    const troubles = activityTroubles(raw)
    const answer = await connection
      .withDeadline(Date.now() + queryMs, () => handle.query(loopStatusQuery))
      .catch(unlessEncrypted)
    if (answer === undefined) return { loop, state: 'silent', troubles }
    const { doing, sinceMs } = answer
    return { loop, state: 'running', doing, sinceMs, pauses: statedPauses(answer, now), troubles }
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return gone
    throw error
  }
}

/** What cannot be decrypted here was answered. */
function unlessEncrypted(error: unknown): undefined {
  if (error instanceof MissingKeyError) throw error
}

function statedPauses({ pause, partialPauses = [] }: LoopStatus, now: number): readonly Pause[] {
  const all = [...(pause === undefined ? [] : [{ ...pause, scope: wholeLoop }]), ...partialPauses]
  return all.filter(({ untilMs }) => untilMs === undefined || untilMs > now)
}

export type Described = proto.temporal.api.workflowservice.v1.IDescribeWorkflowExecutionResponse

/** Returns what Temporal tries again and again without success, in words. */
export function activityTroubles({ pendingActivities }: Described): readonly string[] {
  return (pendingActivities ?? []).flatMap(({ activityType, attempt, lastFailure, ...now }) =>
    (attempt ?? 1) < manyAttempts || !lastFailure || hasRecovered(now)
      ? []
      : [`${activityType?.name} fails, attempt ${attempt}: ${innermost(lastFailure)}`],
  )
}

type Pending = NonNullable<Described['pendingActivities']>[number]

/** Whether the attempt that runs has given a sign of life: what failed before is no trouble any more. */
function hasRecovered({ state, lastHeartbeatTime, lastStartedTime }: Pending): boolean {
  if (state !== proto.temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED) return false
  return secondsOf(lastHeartbeatTime) > secondsOf(lastStartedTime)
}

const secondsOf = (time: Pending['lastHeartbeatTime']) =>
  Number(time?.seconds ?? 0) + (time?.nanos ?? 0) / 1_000_000_000

export function innermost(failure: proto.temporal.api.failure.v1.IFailure): string {
  let inner = failure
  while (inner.cause) inner = inner.cause
  return (inner.message ?? '').replaceAll(/\s+/g, ' ').slice(0, 300)
}

async function readCommands({
  access: { client, connection, cluster },
}: TemporalScene): Promise<readonly CommandReport[]> {
  const prefix = disruptionCommandId(cluster, '')
  const found: { readonly id: string; readonly startedMs: number }[] = []
  const query = runningCommands(cluster)
  for await (const { workflowId, startMs } of listRuns(client, query))
    if (workflowId.startsWith(prefix)) found.push({ id: workflowId.slice(prefix.length), startedMs: startMs })
  found.sort((a, b) => a.startedMs - b.startedMs)
  return Promise.all(
    found.map(async ({ id, startedMs }, at) => {
      if (at >= mostAsked) return { id, startedMs, candidates: [] }
      const handle = client.workflow.getHandle(disruptionCommandId(cluster, id))
      const answer = await connection
        .withDeadline(Date.now() + queryMs, () => handle.query(commandStatusQuery))
        .catch(() => undefined)
      return { id, startedMs, candidates: [], ...answer }
    }),
  )
}

async function readQueue(role: TaskQueueRole, { access, now }: TemporalScene): Promise<QueueReport> {
  return { role, queue: taskQueue(role, access.cluster), workers: (await pollersOf(role, access, now)).length }
}

/** Returns who asks for work of any role, by their identities. `now`: epoch ms. */
export async function allPollers(access: TemporalAccess, now: number): Promise<readonly string[]> {
  return [...new Set((await Promise.all(roles.map((role) => pollersOf(role, access, now)))).flat())]
}

/** Returns who asks for work of a role, likewise. */
async function pollersOf(
  role: TaskQueueRole,
  { connection, namespace, cluster }: TemporalAccess,
  now: number,
): Promise<readonly string[]> {
  const { TASK_QUEUE_TYPE_WORKFLOW, TASK_QUEUE_TYPE_ACTIVITY } = proto.temporal.api.enums.v1.TaskQueueType
  const { pollers } = await connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue(role, cluster) },
    taskQueueType: role === 'core' ? TASK_QUEUE_TYPE_WORKFLOW : TASK_QUEUE_TYPE_ACTIVITY,
  })
  const alive = (pollers ?? []).filter(
    ({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000 > now - pollerMs,
  )
  return [...new Set(alive.map(({ identity }) => identity ?? ''))]
}

export function loopId(cluster: string, loop: LoopName): string {
  return loop === 'provisioning' ? singletonIds.provisioningLoop(cluster) : singletonIds.disruptionLoop(cluster)
}
