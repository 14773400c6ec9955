import type { ConnectionLike } from '@temporalio/client'
import { Connection } from '@temporalio/client'
import { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { runHere } from '../../readers/command-line.ts'
import { SimulatedProcess } from '../simulated-process.ts'
import { notConnected } from '../temporal/client/grpc-service.ts'

/** What a command of Joiner talks to in a simulated world. */
export interface CommandServers {
  readonly kubernetes: KubernetesClient
  readonly temporal: ConnectionLike
}

const address = 'simulated:7233'
/** What a command gets that is sent to another address. */
const nowhere = {
  ensureConnected: () => Promise.reject(notConnected()),
  close: () => Promise.resolve(),
} as unknown as Connection

/**
 * Runs a command of Joiner over servers in memory: all of it but how it finds and reaches them. Returns what it printed. Errors: as `World.joiner`.
 */
export async function runCommand(
  { kubernetes, temporal }: CommandServers,
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<string> {
  const load = Object.getOwnPropertyDescriptor(KubernetesClient, 'load')
  const lazy = Object.getOwnPropertyDescriptor(Connection, 'lazy')
  KubernetesClient.load = () => Promise.resolve(kubernetes)
  Connection.lazy = (options) => (options?.address === address ? (temporal as Connection) : nowhere)
  try {
    const given = { TEMPORAL_ADDRESS: address, CLUSTER_NAME: clusterName, ...env }
    const { code, stdout, stderr } = await SimulatedProcess.outside(() => runHere(given, ...args))
    if (code !== 0)
      throw Object.assign(new Error(`joiner ${args.join(' ')}: ended with ${code}\n${stderr}`), {
        code,
        stdout,
        stderr,
      })
    return stdout
  } finally {
    Object.defineProperty(KubernetesClient, 'load', load ?? {})
    Object.defineProperty(Connection, 'lazy', lazy ?? {})
  }
}
