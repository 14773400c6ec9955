import { Client, Connection } from '@temporalio/client'
import { singletonIds } from '../../core/task-queues.ts'
import { reason } from '../doctor/check.ts'
import { CommandError, type TemporalOptions, whereToRun } from './temporal-options.ts'

/** One cluster's Joiner in Temporal. */
export interface TemporalAccess {
  readonly client: Client
  readonly connection: Connection
  readonly address: string
  readonly namespace: string
  readonly cluster: string
}

const connectMs = 5000

/**
 * Connects, finds the cluster, and runs a command's work, whose result is the exit code. What the work throws as `CommandError` is printed;
 * everything else is told as an error of Temporal's, with the remedy.
 */
export async function withTemporal(
  options: TemporalOptions,
  work: (access: TemporalAccess) => Promise<number>,
): Promise<number> {
  const { temporalAddress: address, temporalNamespace: namespace } = options
  if (address === undefined || address === '') {
    console.error(`name Temporal's frontend by --temporal-address or TEMPORAL_ADDRESS.\n${whereToRun}`)
    return 2
  }
  let connection: Connection | undefined
  try {
    connection = await connect(address)
    const client = new Client({ connection, namespace })
    const cluster = options.cluster ?? (await onlyCluster(connection, client))
    return await work({ client, connection, address, namespace, cluster })
  } catch (error) {
    console.error(error instanceof CommandError ? error.message : `Temporal at ${address}: ${causeOf(error)}`)
    return 1
  } finally {
    await connection?.close()
  }
}

async function connect(address: string): Promise<Connection> {
  try {
    return await Connection.connect({ address, connectTimeout: connectMs })
  } catch (error) {
    throw new CommandError(
      `Temporal at ${address} cannot be reached: ${reason(error)}; check --temporal-address and that the frontend runs.\n${whereToRun}`,
    )
  }
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

/** The innermost message: what Temporal's client wraps it in says nothing more. */
function causeOf(error: unknown): string {
  let inner = error
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause
  return reason(inner)
}
