import type { ConnectionLike } from '@temporalio/client'
import { Connection } from '@temporalio/client'
import { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { runHere } from '../../readers/command-line.ts'
import { SimulatedProcess } from '../simulated-process.ts'
import { areImportsUnderWay } from './imports.ts'

/** What a command of Joiner talks to in a simulated world. */
export interface CommandServers {
  readonly kubernetes: KubernetesClient
  readonly temporal: ConnectionLike
}

let running = 0

/** Whether a command loads code that it needs: commands load theirs when they are called, in a time that is not virtual. */
export const doCommandsLoad = () => running > 0 && areImportsUnderWay()

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
  Connection.lazy = () => temporal as Connection
  running += 1
  try {
    const given = { TEMPORAL_ADDRESS: 'simulated:7233', CLUSTER_NAME: clusterName, ...env }
    const { code, stdout, stderr } = await SimulatedProcess.outside(() => runHere(given, ...args))
    if (code !== 0)
      throw Object.assign(new Error(`joiner ${args.join(' ')}: ended with ${code}\n${stderr}`), {
        code,
        stdout,
        stderr,
      })
    return stdout
  } finally {
    running -= 1
    Object.defineProperty(KubernetesClient, 'load', load ?? {})
    Object.defineProperty(Connection, 'lazy', lazy ?? {})
  }
}
