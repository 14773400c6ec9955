import { WorkflowNotFoundError } from '@temporalio/client'
import proto from '@temporalio/proto'
import { listRuns } from '../../../activities/workflow-runs.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { type LoopName, type Pause, wholeLoop } from '../../../core/pauses/pauses.ts'
import { disruptionCommandId, type TaskQueueRole, taskQueue } from '../../../core/task-queues.ts'
import { runningCommands } from '../../../core/workflow-queries.ts'
import { commandStatusQuery, type LoopStatus, loopStatusQuery } from '../../../workflows/messages.ts'
import { MissingKeyError } from '../../temporal/encryption.ts'
import { lookOnce, type ReadClaims } from '../../temporal/findings/look.ts'
import { messageOf } from '../../temporal/problem.ts'
import { loopId } from '../operate/ask-loop.ts'
import type { TemporalAccess } from '../operate/temporal-access.ts'
import { type CommandReport, type LoopReport, type QueueReport, type StatusReport, unreadLoop } from './status.ts'

const readMs = 15_000
/** A loop answers at once; longer means that nobody works for it. */
const queryMs = 3000
/** A poll lasts a minute; who has not asked again by then is gone. */
const pollerMs = 90_000
/** A retry or two are the day's work; more are worth a line. */
const manyAttempts = 3
const roles = ['core', 'wait', 'azure', 'plan', 'maintenance'] as const
/** Commands that are asked what they do. */
const mostAsked = 100

/** Reads everything of Temporal side by side: what cannot be read keeps nothing else from being read. `claims`: undefined where they could not be read; `again` reads them once more. */
export async function readStatus(
  access: TemporalAccess,
  { claims, again }: { readonly claims: readonly NodeClaim[] | undefined; readonly again: ReadClaims },
  now: number,
): Promise<StatusReport> {
  const { client, connection, cluster } = access
  const unread: string[] = []
  const part = async <T>(what: string, read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read()
    } catch (error) {
      unread.push(`${what}: ${messageOf(error)}`)
      return undefined
    }
  }
  const loop = async (name: LoopName) =>
    (await part(`the ${name} loop`, () => readLoop(access, name, now))) ?? unreadLoop(name)
  return connection.withDeadline(Date.now() + readMs, async () => {
    const [loops, commands, queues, findings] = await Promise.all([
      Promise.all([loop('provisioning'), loop('disruption')]),
      part('disruption commands', () => readCommands(access)),
      Promise.all(roles.map((role) => part(`task queue ${role}`, () => readQueue(access, role, now)))),
      lookOnce({ client, cluster, now: () => now }, claims, again),
    ])
    const answered = queues.filter((queue) => queue !== undefined)
    return { cluster, loops, queues: answered, findings, unread, ...(commands && { commands }) }
  })
}

async function readLoop(access: TemporalAccess, loop: LoopName, now: number): Promise<LoopReport> {
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

type Described = proto.temporal.api.workflowservice.v1.IDescribeWorkflowExecutionResponse

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

async function readCommands({ client, connection, cluster }: TemporalAccess): Promise<readonly CommandReport[]> {
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

async function readQueue(access: TemporalAccess, role: TaskQueueRole, now: number): Promise<QueueReport> {
  const { connection, namespace, cluster } = access
  const queue = taskQueue(role, cluster)
  const { TASK_QUEUE_TYPE_WORKFLOW, TASK_QUEUE_TYPE_ACTIVITY } = proto.temporal.api.enums.v1.TaskQueueType
  const { pollers } = await connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: queue },
    taskQueueType: role === 'core' ? TASK_QUEUE_TYPE_WORKFLOW : TASK_QUEUE_TYPE_ACTIVITY,
  })
  const alive = (pollers ?? []).filter(
    ({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000 > now - pollerMs,
  )
  return { role, queue, workers: new Set(alive.map(({ identity }) => identity)).size }
}
