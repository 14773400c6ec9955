import { WorkflowNotFoundError } from '@temporalio/client'
import proto from '@temporalio/proto'
import { readLateLists } from '../../../activities/azure/answers/late-list.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { readLoopPauses } from '../../../activities/kubernetes/pauses/pauses.ts'
import { readWaiting } from '../../../activities/provisioning/findings/read-waiting.ts'
import { QuarantineStore } from '../../../activities/scheduler-thread/quarantine-store.ts'
import { listRuns } from '../../../activities/workflow-runs.ts'
import { type LoopName, type Pause, wholeLoop } from '../../../core/pauses/pauses.ts'
import { disruptionCommandId, type TaskQueueRole, taskQueue } from '../../../core/task-queues.ts'
import { runningCommands, runningLifecycles } from '../../../core/workflow-queries.ts'
import { commandStatusQuery, type LoopStatus, loopStatusQuery } from '../../../workflows/messages.ts'
import { searchAttributes } from '../../../workflows/search-attributes.ts'
import { MissingKeyError } from '../../temporal/encryption.ts'
import { readRefusedCancellations } from '../../view/cancellations.ts'
import { readPrices } from '../../view/prices.ts'
import { readWithheld } from '../../view/withheld.ts'
import { withCluster } from '../access/cluster.ts'
import { loopId } from '../operate/ask-loop.ts'
import type { TemporalAccess } from '../operate/temporal-access.ts'
import type { ClusterOptions } from '../shared/options.ts'
import type { ClusterReport, CommandReport, LoopReport, NodeReport, QueueReport, StatusReport } from './status.ts'

const readMs = 15_000
/** A loop answers at once; longer means that nobody works for it. */
const queryMs = 3000
const clusterMs = 3000
/** A poll lasts a minute; who has not asked again by then is gone. */
const pollerMs = 90_000
/** A retry or two are the day's work; more are worth a line. */
const manyAttempts = 3
/** Commands that are asked what they do. */
const mostAsked = 100

/** Reads everything side by side. Errors: what keeps Temporal from answering at all. */
export async function readStatus(access: TemporalAccess, now: number): Promise<StatusReport> {
  const { connection, cluster } = access
  return connection.withDeadline(Date.now() + readMs, async () => {
    const [loops, commands, nodes, queues] = await Promise.all([
      Promise.all([readLoop(access, 'provisioning', now), readLoop(access, 'disruption', now)]),
      readCommands(access),
      readNodes(access),
      Promise.all((['core', 'wait', 'azure', 'plan'] as const).map((role) => readQueue(access, role, now))),
    ])
    return { cluster, loops, commands, nodes, queues }
  })
}

async function readLoop(access: TemporalAccess, loop: LoopName, now: number): Promise<LoopReport> {
  const { client, connection, cluster } = access
  const handle = client.workflow.getHandle(loopId(cluster, loop))
  const gone = { loop, state: 'not running', troubles: [] } as const
  try {
    const { status, raw } = await handle.describe()
    if (status.name !== 'RUNNING') return gone
    const troubles = [...taskTroubles(raw), ...activityTroubles(raw)]
    const answer = await connection
      .withDeadline(Date.now() + queryMs, () => handle.query(loopStatusQuery))
      .catch(unlessEncrypted)
    if (answer === undefined) return { loop, state: 'silent', troubles }
    const { doing, sinceMs, rounds } = answer
    return { loop, state: 'running', doing, sinceMs, rounds, pauses: statedPauses(answer, now), troubles }
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

function taskTroubles({ pendingWorkflowTask }: Described): readonly string[] {
  const attempt = pendingWorkflowTask?.attempt ?? 1
  if (attempt < manyAttempts) return []
  return [`its own code fails, attempt ${attempt}; see the log of the role core`]
}

function activityTroubles({ pendingActivities }: Described): readonly string[] {
  return (pendingActivities ?? []).flatMap(({ activityType, attempt, lastFailure }) =>
    (attempt ?? 1) < manyAttempts || !lastFailure
      ? []
      : [`${activityType?.name} fails, attempt ${attempt}: ${innermost(lastFailure)}`],
  )
}

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

async function readNodes({ client, cluster }: TemporalAccess): Promise<readonly NodeReport[]> {
  const nodes: NodeReport[] = []
  const query = runningLifecycles(cluster)
  for await (const { attribute } of listRuns(client, query))
    nodes.push({
      nodePool: attribute(searchAttributes.nodePool.name) ?? '(none)',
      phase: attribute(searchAttributes.nodePhase.name) ?? 'Unknown',
      instanceType: attribute(searchAttributes.instanceType.name) ?? '',
      capacityType: attribute(searchAttributes.capacityType.name) ?? '',
    })
  return nodes
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

/** Prices and pauses as Joiner keeps them in the cluster, as far as they can be read from here. */
export async function readCluster(options: ClusterOptions, now: number): Promise<ClusterReport> {
  const late = new Promise<ClusterReport>((resolve) => setTimeout(resolve, clusterMs, {}).unref())
  return Promise.race([read().catch(() => ({})), late])

  function read(): Promise<ClusterReport> {
    const { namespace } = options
    return withCluster(options, async (client) => {
      const [prices, pauses, quarantined, waiting, withheld, lateLists, refusedCancellations] = await Promise.all([
        readPrices(client, namespace).catch(() => undefined),
        readPauses(client, namespace, now).catch(() => undefined),
        new QuarantineStore(client, namespace).read().catch(() => undefined),
        readWaiting(client, namespace).catch(() => undefined),
        readWithheld(client, namespace).catch(() => undefined),
        readLateLists(client, namespace, now).catch(() => undefined),
        readRefusedCancellations(client, namespace, now).catch(() => undefined),
      ])
      return {
        ...(prices && { priceOf: prices.priceOf }),
        ...(pauses && { pauses }),
        ...(waiting && { waiting }),
        ...(withheld && { withheld }),
        ...(lateLists && { lateLists }),
        ...(refusedCancellations !== undefined && { refusedCancellations }),
        ...(quarantined && { quarantined: [...quarantined.values()].filter(({ untilMs }) => untilMs > now) }),
      }
    })
  }
}

async function readPauses(client: KubernetesClient, namespace: string, now: number): Promise<ClusterReport['pauses']> {
  const [provisioning, disruption] = await Promise.all([
    readLoopPauses({ client, namespace }, 'provisioning', now),
    readLoopPauses({ client, namespace }, 'disruption', now),
  ])
  return { provisioning, disruption }
}
