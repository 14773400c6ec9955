import type { Client, Connection } from '@temporalio/client'
import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import { singletonIds } from '../../../core/task-queues.ts'
import { connectClient, connectMs, temporalClient } from '../../temporal/connect.ts'
import { explainTemporal } from '../../temporal/problem.ts'
import { readTemporalSettings, type TemporalSettings } from '../../temporal/settings.ts'
import { type Reach, reachTemporal } from '../access/reach-temporal.ts'
import { CommandError } from '../shared/command-error.ts'
import { type TemporalOptions, whereToRun } from './temporal-options.ts'

/** One cluster's Joiner in Temporal. */
export interface TemporalAccess {
  readonly client: Client
  readonly connection: Connection
  readonly address: string
  readonly namespace: string
  readonly cluster: string
}

/**
 * Connects, finds the cluster, and runs a command's work, whose result is the exit code. What the work throws as `CommandError` is printed;
 * everything else is reported as an error of Temporal's, with the remedy.
 */
export async function withTemporal(
  options: TemporalOptions,
  work: (access: TemporalAccess) => Promise<number>,
): Promise<number> {
  let reach: Reach
  try {
    reach = await reachTemporal(options)
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof CommandError)) throw error
    console.error(error.message)
    return 1
  }
  try {
    return await withReach(reach, options, work)
  } finally {
    reach.dispose()
  }
}

async function withReach(
  reach: Reach,
  options: TemporalOptions,
  work: (access: TemporalAccess) => Promise<number>,
): Promise<number> {
  const read = readTemporalSettings(reach.env, {
    address: options.temporalAddress,
    namespace: options.temporalNamespace,
    isForeign: reach.isForeign,
  })
  if (read.kind === 'errors') {
    for (const error of read.errors) console.error(error)
    console.error(`--temporal-address and --temporal-namespace come before the environment.\n${whereToRun}`)
    return 2
  }
  for (const warning of read.warnings) console.error(warning)
  const { settings } = read
  const { address, namespace } = settings
  let connection: Connection | undefined
  try {
    connection = await connectClient(settings)
    const client = temporalClient(connection, settings)
    const cluster = options.cluster ?? reach.cluster ?? (await onlyCluster(connection, client))
    return await work({ client, connection, address, namespace, cluster })
  } catch (error) {
    console.error(
      error instanceof CommandError ? error.message : await textOf(settings, error, connection === undefined),
    )
    return 1
  } finally {
    await connection?.close()
  }
}

async function textOf(settings: TemporalSettings, error: unknown, isUnconnected: boolean): Promise<string> {
  const { what, remedies } = await explainTemporal(settings, error)
  return [what, ...remedies.map((remedy) => `  ${remedy}`), ...(isUnconnected ? [whereToRun] : [])].join('\n')
}

/** The cluster that has a disruption loop, when there is one only. Errors: none, or several. */
async function onlyCluster(connection: Connection, client: Client): Promise<string> {
  const prefix = singletonIds.disruptionLoop('')
  const clusters = await connection.withDeadline(Date.now() + connectMs, async () => {
    const found: string[] = []
    const query = "WorkflowType = 'disruptionLoop' AND ExecutionStatus = 'Running'"
    for await (const { workflowId } of client.workflow.list({ query })) found.push(workflowId.slice(prefix.length))
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
      `several clusters use the namespace "${namespace}"; name one by --cluster: ${clusters.join(', ')}`,
    )
  return cluster
}
