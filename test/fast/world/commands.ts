import type { ConnectionLike } from '@temporalio/client'
import { Connection } from '@temporalio/client'
import { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { operatorUser } from '../../clusters/servers.ts'
import { type Ran, runHere } from '../../readers/command-line.ts'
import { SimulatedProcess } from '../simulated-process.ts'
import { notConnected } from '../temporal/client/grpc-service.ts'
import { inNoTime, loadingInNoTime } from './passing.ts'

/** Commands that read files in a thread, and need no server. */
const ofFiles: ReadonlySet<string | undefined> = new Set([
  'advise',
  'convert',
  'instance-types',
  'simulate',
  'validate',
])

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
let last: Promise<unknown> = Promise.resolve()

/**
 * Runs a command of Joiner over servers in memory: all of it but how it finds and reaches them. Returns what it printed. Commands wait for each other.
 * Errors: as `World.joiner`.
 */
export async function runCommand(
  servers: CommandServers,
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<string> {
  const { code, stdout, stderr } = await ranCommand(servers, env, args)
  if (code === 0) return stdout
  throw Object.assign(new Error(`joiner ${args.join(' ')}: ended with ${code}\n${stderr}`), { code, stdout, stderr })
}

/** The same; what it printed and its exit code, however it ended. */
export function ranCommand(
  servers: CommandServers,
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<Ran> {
  const mine = last.then(() => reaching(servers, () => ranBy(env, args)))
  last = mine.catch(() => undefined)
  return mine
}

/** Does something while these are the servers that commands reach. */
async function reaching<T>({ kubernetes, temporal }: CommandServers, work: () => Promise<T>): Promise<T> {
  const load = Object.getOwnPropertyDescriptor(KubernetesClient, 'load')
  const lazy = Object.getOwnPropertyDescriptor(Connection, 'lazy')
  KubernetesClient.load = () => Promise.resolve(asOperator(kubernetes))
  Connection.lazy = (options) => (options?.address === address ? (temporal as Connection) : nowhere)
  try {
    return await loadingInNoTime(work)
  } finally {
    Object.defineProperty(KubernetesClient, 'load', load ?? {})
    Object.defineProperty(Connection, 'lazy', lazy ?? {})
  }
}

/** The cluster in memory knows no users, so it is asked in vain who somebody is. */
function asOperator(client: KubernetesClient): KubernetesClient {
  const create: KubernetesClient['create'] = async (path, body) =>
    path.endsWith('/selfsubjectreviews')
      ? { ...body, status: { userInfo: { username: operatorUser } } }
      : client.create(path, body)
  return new Proxy(client, {
    get: (target, name) => (name === 'create' ? create : Reflect.get(target, name)) as unknown,
  })
}

async function ranBy(env: Readonly<Record<string, string>>, args: readonly string[]): Promise<Ran> {
  const given = { TEMPORAL_ADDRESS: address, CLUSTER_NAME: clusterName, ...env }
  const run = () => SimulatedProcess.outside(() => runHere(given, ...args))
  return ofFiles.has(args[0]) ? inNoTime(run) : run()
}
