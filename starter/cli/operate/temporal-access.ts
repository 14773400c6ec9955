import type { Client, Connection } from '@temporalio/client'
import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import { listRuns } from '../../../activities/workflow-runs.ts'
import { singletonIds } from '../../../core/task-queues.ts'
import { say } from '../../document/print.ts'
import { CommandError, DryRun } from '../../document/reported-error.ts'
import { volumeProblem } from '../../temporal/bundled.ts'
import type { TemporalAccess } from '../../temporal/connect.ts'
import { connectClient, connectMs, temporalClient } from '../../temporal/connect.ts'
import { explainTemporal } from '../../temporal/problem.ts'
import { readTemporalSettings, type TemporalSettings } from '../../temporal/settings.ts'
import { withCluster } from '../access/cluster.ts'
import { type Reach, reachTemporal } from '../access/reach-temporal.ts'
import type { TemporalOptions } from './temporal-options.ts'

/** What came of connecting. */
export type OpenedTemporal =
  | {
      readonly kind: 'open'
      readonly access: TemporalAccess
      /** Returns what is behind an error of a request, with the remedy. */
      readonly explain: (error: unknown) => Promise<string>
      readonly close: () => Promise<void>
    }
  /** `exitCode`: of a command that cannot go on. */
  | { readonly kind: 'problem'; readonly message: string; readonly exitCode: 1 | 2 }

/**
 * Connects, finds the cluster, and runs a command's work, whose result is the exit code. What the work throws as `CommandError` is printed;
 * everything else is reported as an error of Temporal's, with the remedy.
 */
export async function withTemporal(
  options: TemporalOptions,
  work: (access: TemporalAccess) => Promise<number>,
): Promise<number> {
  const opened = await openTemporal(options)
  if (opened.kind === 'problem') {
    console.error(opened.message)
    return opened.exitCode
  }
  try {
    return await work(options.dryRun === true ? { ...opened.access, isDry: true } : opened.access)
  } catch (error) {
    if (error instanceof DryRun) {
      say(...error.message.split('\n'))
      return 0
    }
    console.error(error instanceof CommandError ? error.message : await opened.explain(error))
    return 1
  } finally {
    await opened.close()
  }
}

/** Connects and finds the cluster. The connection is closed by the caller. */
export async function openTemporal(options: TemporalOptions): Promise<OpenedTemporal> {
  let reach: Reach
  try {
    reach = await reachTemporal(options)
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof CommandError)) throw error
    return { kind: 'problem', message: error.message, exitCode: 1 }
  }
  try {
    const opened =
      reach.problem === undefined
        ? await openReached(reach, options)
        : ({ kind: 'problem', message: reach.problem, exitCode: 1 } as const)
    if (opened.kind === 'open') return opened
    reach.dispose()
    return reach.env['JOINER_TEMPORAL_BUNDLED'] === 'true' ? await withVolume(opened, options) : opened
  } catch (error) {
    reach.dispose()
    throw error
  }
}

/** The problem, behind the one with the volume of the chart's own Temporal where there is one. */
async function withVolume(problem: OpenedTemporal & { kind: 'problem' }, options: TemporalOptions) {
  const { joinerNamespace: namespace } = options
  const volume = await withCluster(options, (client) => volumeProblem({ client, namespace, now: Date.now() }))
  if (volume === undefined) return problem
  const lines = [volume.what, ...volume.remedies.map((remedy) => `  ${remedy}`), problem.message]
  return { ...problem, message: lines.join('\n') }
}

async function openReached(reach: Reach, options: TemporalOptions): Promise<OpenedTemporal> {
  const read = readTemporalSettings(reach.env, {
    address: options.temporalAddress,
    namespace: options.temporalNamespace,
    isForeign: reach.isForeign,
  })
  if (read.kind === 'errors') {
    const ways = '--temporal-address and --temporal-namespace come before the environment.'
    return { kind: 'problem', message: [...read.errors, ways].join('\n'), exitCode: 2 }
  }
  for (const warning of read.warnings) console.error(warning)
  const { settings } = read
  const { address, namespace } = settings
  let connection: Connection | undefined
  try {
    connection = await connectClient(settings)
    const client = temporalClient(connection, settings)
    const cluster = options.clusterName ?? reach.cluster ?? (await onlyCluster(connection, client))
    const connected = connection
    return {
      kind: 'open',
      access: { client, connection, address, namespace, cluster },
      explain: (error) => textOf(settings, error),
      close: async () => {
        await connected.close()
        reach.dispose()
      },
    }
  } catch (error) {
    const message = error instanceof CommandError ? error.message : await textOf(settings, error)
    await connection?.close()
    return { kind: 'problem', message, exitCode: 1 }
  }
}

async function textOf(settings: TemporalSettings, error: unknown): Promise<string> {
  const { what, remedies } = await explainTemporal(settings, error)
  return [what, ...remedies.map((remedy) => `  ${remedy}`)].join('\n')
}

/** The cluster that has a disruption loop, when there is one only. Errors: none, or several. */
async function onlyCluster(connection: Connection, client: Client): Promise<string> {
  const prefix = singletonIds.disruptionLoop('')
  const clusters = await connection.withDeadline(Date.now() + connectMs, async () => {
    const found: string[] = []
    const query = "WorkflowType = 'disruptionLoop' AND ExecutionStatus = 'Running'"
    for await (const { workflowId } of listRuns(client, query)) found.push(workflowId.slice(prefix.length))
    return found.sort()
  })
  const [cluster] = clusters
  const { namespace } = client.options
  if (cluster === undefined)
    throw new CommandError(
      `no loop of Joiner runs in the namespace "${namespace}": Joiner has never been started there, or all its processes were gone when its loops ended. ` +
        'Check --temporal-namespace, and whether Joiner runs: kubectl get pods --namespace joiner',
    )
  if (clusters.length > 1)
    throw new CommandError(
      `several clusters use the namespace "${namespace}"; name one by --cluster-name: ${clusters.join(', ')}`,
    )
  return cluster
}
