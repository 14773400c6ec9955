import type { Client } from '@temporalio/client'
import { listRuns, type WorkflowRun } from '../../activities/workflow-runs.ts'
import { type CommandFacts, factsKey, type History, type Life } from '../../core/history/life.ts'
import { readCommandFacts, readLifeFacts } from '../../core/history/read-facts.ts'
import { claimOfLifecycle, disruptionCommandId } from '../../core/task-queues.ts'
import { endedSince } from '../../core/workflow-queries.ts'
import type { TemporalAccess } from '../temporal/connect.ts'

/** Memos have up to 4 KiB; a page stays far below the largest message of gRPC. */
const pageSize = 500

export interface HistoryInput {
  readonly cluster: string
  /** Epoch ms. */
  readonly sinceMs: number
  readonly nowMs: number
}

/**
 * Reads the lifecycles and disruption commands of a cluster that existed at some time since `sinceMs`, from Temporal's list alone: no history is
 * read, and no worker is asked. Works without the search attributes. Errors: Temporal's.
 */
export async function readHistory(client: Client, { cluster, sinceMs, nowMs }: HistoryInput): Promise<History> {
  const retentionMs = await readRetention(client)
  const since = retentionMs === undefined ? sinceMs : Math.max(sinceMs, nowMs - retentionMs)
  const lifecycles = new Map<string, Life | undefined>()
  // By their own ids: commands for the same nodes have one workflow id, one after the other.
  const commands = new Map<string, { readonly startMs: number; readonly facts: CommandFacts }>()
  for await (const run of listRuns(client, endedSince(cluster, since), pageSize)) {
    if (run.isContinued || run.startMs > nowMs) continue
    const { workflowId } = run
    if (run.type === 'nodeClaimLifecycle') {
      lifecycles.set(workflowId, truerOf(lifecycles.get(workflowId), await lifeOf(run, cluster)))
    } else {
      const command = await commandOf(run, cluster)
      const { startMs } = run
      if (command !== undefined && startMs >= (commands.get(command.id)?.startMs ?? 0))
        commands.set(command.id, { startMs, facts: command })
    }
  }
  const found = [...lifecycles.values()].filter((life) => life !== undefined)
  const withoutVm = found.filter(
    ({ isRunning, drainingMs, vms }) =>
      isRunning && drainingMs === undefined && vms.every(({ toMs }) => toMs !== undefined),
  ).length
  return {
    lives: found.sort((a, b) => a.createdMs - b.createdMs || (a.nodeClaim < b.nodeClaim ? -1 : 1)),
    commands: [...commands.values()].map(({ facts }) => facts).sort((a, b) => a.startedMs - b.startedMs),
    sinceMs: since,
    untilMs: nowMs,
    ...(retentionMs === undefined ? {} : { retentionMs }),
    unreadable: lifecycles.size - found.length,
    ...(withoutVm > 0 && { withoutVm }),
  }
}

/** Lists of tens of thousands of lifecycles take a while. */
const listMs = 60_000

/** Reads the same of the cluster that a command is about, within a minute. Errors: Temporal's. */
export function historyOf(
  { client, connection, cluster }: TemporalAccess,
  time: Omit<HistoryInput, 'cluster'>,
): Promise<History> {
  return connection.withDeadline(Date.now() + listMs, () => readHistory(client, { cluster, ...time }))
}

/**
 * Of several runs of one lifecycle, which somebody terminated or reset, the one that runs counts; without one, the first that recorded an end: what
 * ended after it found nothing.
 */
function truerOf(a: Life | undefined, b: Life | undefined): Life | undefined {
  if (a === undefined || b === undefined) return a ?? b
  if (a.isRunning !== b.isRunning) return a.isRunning ? a : b
  return (b.endedMs ?? 0) < (a.endedMs ?? 0) ? b : a
}

async function lifeOf(run: WorkflowRun, cluster: string): Promise<Life | undefined> {
  const { workflowId, runId, isRunning } = run
  const claim = claimOfLifecycle(cluster, workflowId)
  if (claim === undefined) return undefined
  const facts = readLifeFacts(await run.memo(factsKey))
  // A run that was terminated did not write how it ended.
  if (facts === undefined || (!isRunning && facts.endedMs === undefined)) return undefined
  return { ...facts, nodeClaim: claim.name, uid: claim.uid, workflowId, runId, isRunning }
}

async function commandOf(run: WorkflowRun, cluster: string): Promise<CommandFacts | undefined> {
  const prefix = disruptionCommandId(cluster, '')
  const facts = run.workflowId.startsWith(prefix) ? readCommandFacts(await run.memo(factsKey)) : undefined
  // What was not committed did nothing.
  if (facts === undefined || facts.dueMs !== undefined) return undefined
  const { closeMs } = run
  // A command that was terminated has no outcome.
  return { ...facts, ...(closeMs === undefined ? {} : { endedMs: closeMs }) }
}

/** Returns how long the namespace keeps closed workflows; undefined when Temporal does not say. */
async function readRetention(client: Client): Promise<number | undefined> {
  const { namespace } = client.options
  try {
    const { config } = await client.workflowService.describeNamespace({ namespace })
    const seconds = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0)
    return seconds > 0 ? seconds * 1000 : undefined
  } catch {
    // Who may list but not describe still gets the history.
    return undefined
  }
}
