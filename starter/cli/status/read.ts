import { WorkflowNotFoundError } from '@temporalio/client'
import proto from '@temporalio/proto'
import { readLateLists } from '../../../activities/azure/answers/late-list.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { readLoopPauses } from '../../../activities/kubernetes/pauses/pauses.ts'
import { readWaiting } from '../../../activities/provisioning/findings/read-waiting.ts'
import { QuarantineStore } from '../../../activities/scheduler-thread/quarantine-store.ts'
import { listRuns } from '../../../activities/workflow-runs.ts'
import { faultText, type NoteFaults } from '../../../api/kept/document.ts'
import { withheldMapName } from '../../../api/withheld-machines.ts'
import { isTrue } from '../../../core/conditions.ts'
import { verdictMapName } from '../../../core/disruption/verdicts/verdict.ts'
import { cancellationsMap } from '../../../core/node-claim/cancellation.ts'
import { phaseOf } from '../../../core/node-claim/phase.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { type LoopName, type Pause, wholeLoop } from '../../../core/pauses/pauses.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { waitingMapName } from '../../../core/scheduling/explain/waiting-classes.ts'
import { disruptionCommandId, type TaskQueueRole, taskQueue } from '../../../core/task-queues.ts'
import { runningCommands } from '../../../core/workflow-queries.ts'
import { commandStatusQuery, type LoopStatus, loopStatusQuery } from '../../../workflows/messages.ts'
import { MissingKeyError } from '../../temporal/encryption.ts'
import { lookOnce, type ReadClaims } from '../../temporal/findings/look.ts'
import { messageOf } from '../../temporal/problem.ts'
import { readRefusedCancellations } from '../../view/cancellations.ts'
import { readEvaluations } from '../../view/evaluations.ts'
import { readPrices } from '../../view/prices.ts'
import { processesRead } from '../../view/processes-read.ts'
import { readWithheld } from '../../view/withheld.ts'
import { withCluster } from '../access/cluster.ts'
import { reason } from '../doctor/check.ts'
import { loopId } from '../operate/ask-loop.ts'
import type { TemporalAccess } from '../operate/temporal-access.ts'
import { readLeases } from '../shared/leases.ts'
import type { ClusterOptions } from '../shared/options.ts'
import { readClaims, readRepairer } from '../shared/temporal-findings.ts'
import {
  type ClusterReport,
  type CommandReport,
  type LoopReport,
  type NodeReport,
  type QueueReport,
  type StatusReport,
  unreadLoop,
} from './status.ts'

const readMs = 15_000
/** A loop answers at once; longer means that nobody works for it. */
const queryMs = 3000
const configMs = 3000
/** A poll lasts a minute; who has not asked again by then is gone. */
const pollerMs = 90_000
/** A retry or two are the day's work; more are worth a line. */
const manyAttempts = 3
const loops = ['provisioning', 'disruption'] as const
const roles = ['core', 'wait', 'azure', 'plan', 'maintenance'] as const
/** Damaged documents of one ConfigMap that are named. */
const mostFaults = 5
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

/** What is read of the cluster. */
export interface ClusterRead {
  readonly report: ClusterReport
  /** Joiner's NodeClaims; undefined: they could not be read. */
  readonly claims: readonly NodeClaim[] | undefined
}

/** Reads NodeClaims, and what Joiner keeps in the cluster, as far as they can be read from here. */
export async function readCluster(options: ClusterOptions, now: number): Promise<ClusterRead> {
  try {
    return await withCluster(options, (client) => readObjects(client, options.namespace, now))
  } catch (error) {
    return { report: { unread: [`NodeClaims: ${reason(error)}`] }, claims: undefined }
  }
}

/** As `readCluster`, with a client of the cluster. */
async function readObjects(client: KubernetesClient, namespace: string, now: number): Promise<ClusterRead> {
  const unread: string[] = []
  const damaged = new Set<string>()
  const note: NoteFaults = (map, faults) => {
    for (const fault of faults.slice(0, mostFaults)) damaged.add(faultText(map, namespace, fault))
  }
  const source = { client, namespace, note }
  const kept = <T>(map: string, read: Promise<T>) =>
    within(configMs, read).catch((error: unknown) => {
      unread.push(`ConfigMap ${map}: ${reason(error)}`)
      return undefined
    })
  const [
    claims,
    repairer,
    leases,
    prices,
    pauses,
    quarantined,
    waiting,
    withheld,
    lateLists,
    refusedCancellations,
    lastPass,
  ] = await Promise.all([
    within(readMs, readClaims(client)).catch((error: unknown) => reason(error)),
    within(configMs, readRepairer(client, namespace, now)).catch(() => undefined),
    within(configMs, readLeases(client, namespace)).catch(() => undefined),
    kept(
      'joiner-prices',
      readPrices(source, () => now),
    ),
    kept('joiner-pauses', Promise.all(loops.map((loop) => readLoopPauses(source, loop, now)))),
    kept('joiner-quarantine', new QuarantineStore(source).read()),
    kept(waitingMapName, readWaiting(source)),
    kept(withheldMapName, readWithheld(source)),
    kept('joiner-late-lists', readLateLists(source, now)),
    kept(cancellationsMap, readRefusedCancellations(source, now)),
    kept(verdictMapName(0), readEvaluations(source, 0)),
    ...processesRead(source, now).map(([map, read]) => kept(map, read)),
  ])
  if (typeof claims === 'string') unread.unshift(`NodeClaims: ${claims}`)
  const report = {
    unread,
    damaged: [...damaged],
    ...(typeof claims === 'string' ? {} : { nodes: claims.map(nodeReport) }),
    ...(repairer && { repairer }),
    ...(leases && { leases }),
    ...(prices?.kind === 'read' && { priceOf: prices.priceOf }),
    ...(pauses && { pauses: { provisioning: pauses[0] ?? [], disruption: pauses[1] ?? [] } }),
    ...(waiting && { waiting }),
    ...(withheld && { withheld }),
    ...(lateLists && { lateLists }),
    ...(refusedCancellations !== undefined && { refusedCancellations }),
    ...(lastPass?.lastPass && { lastPass: lastPass.lastPass }),
    ...(quarantined && { quarantined: [...quarantined.values()].filter(({ untilMs }) => untilMs > now) }),
  }
  return { report, claims: typeof claims === 'string' ? undefined : claims }
}

/** Errors: those of the work, and that it takes longer. */
async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${limitMs / 1000} s`)), limitMs)
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}

function nodeReport(claim: NodeClaim): NodeReport {
  const { labels: own } = claim.metadata
  return {
    nodePool: own[labels.nodePool] ?? '(none)',
    phase: isTrue(claim.status.conditions, 'Rebooting') ? 'Rebooting' : phaseOf(claim).phase,
    instanceType: own[labels.instanceType] ?? '',
    capacityType: own[labels.capacityType] ?? '',
  }
}
