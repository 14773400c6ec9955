import type { ConnectionLike } from '@temporalio/client'
import { Connection } from '@temporalio/client'
import { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { runHere } from '../../readers/command-line.ts'
import { SimulatedProcess } from '../simulated-process.ts'

/** What a command of Joiner talks to in a simulated world. */
export interface CommandServers {
  readonly kubernetes: KubernetesClient
  readonly temporal: ConnectionLike
}

let last: Promise<unknown> = Promise.resolve()

/**
 * Runs a command of Joiner over servers in memory: all of it but how it finds and reaches them. Returns what it printed. Commands wait for each other.
 * Errors: as `World.joiner`.
 */
export function runCommand(
  servers: CommandServers,
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<string> {
  const mine = last.then(() => reaching(servers, () => printedBy(env, args)))
  last = mine.catch(() => undefined)
  return mine
}

/** Does something while these are the servers that commands reach. */
async function reaching<T>({ kubernetes, temporal }: CommandServers, work: () => Promise<T>): Promise<T> {
  const load = Object.getOwnPropertyDescriptor(KubernetesClient, 'load')
  const lazy = Object.getOwnPropertyDescriptor(Connection, 'lazy')
  KubernetesClient.load = () => Promise.resolve(kubernetes)
  Connection.lazy = () => temporal as Connection
  try {
    return await work()
  } finally {
    Object.defineProperty(KubernetesClient, 'load', load ?? {})
    Object.defineProperty(Connection, 'lazy', lazy ?? {})
  }
}

async function printedBy(env: Readonly<Record<string, string>>, args: readonly string[]): Promise<string> {
  const given = { TEMPORAL_ADDRESS: 'simulated:7233', CLUSTER_NAME: clusterName, ...env }
  const { code, stdout, stderr } = await SimulatedProcess.outside(() => runHere(given, ...args))
  if (code === 0) return stdout
  throw Object.assign(new Error(`joiner ${args.join(' ')}: ended with ${code}\n${stderr}`), { code, stdout, stderr })
}
