// Suites that run one after the other in a process share the servers of a cluster: etcd goes back to what it held when Joiner had just been
// installed, and Temporal and the simulator begin again with nothing.
import { rmSync } from 'node:fs'
import { mkdtemp, readdir, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { configureSimulator, type ServerOptions, startCluster, untilServersAnswer } from '../../deploy/local/cluster.ts'
import { Installation } from '../../deploy/local/installation.ts'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'
import { Operator } from '../../deploy/local/operator.ts'
import { EtcdState } from './etcd-state.ts'

/** A cluster with Joiner's CRDs and rights. */
export interface Installed {
  readonly cluster: LocalCluster
  readonly operator: Operator
  readonly installation: Installation
  /** Names of the servers' processes. */
  readonly servers: readonly string[]
  /** What it is brought back to; unset when no other suite may have it. */
  readonly state?: EtcdState
}

type Shared = Installed & { readonly state: EtcdState }

/** Clusters that no suite uses now. */
const idle: Shared[] = []

/** Servers that keep state of their own, and where. */
const stateful = [
  { server: 'temporal', files: /^temporal\.db/ },
  { server: 'azure', files: /^azure$/ },
] as const

/** Whether suites of this process share clusters. Commands do not: their cluster ends with them. */
/** What was written, and by whom, is a part of verdicts. */
const isCompared = process.env['JOINER_TEST_VERDICTS'] !== undefined
const isSharing = () => process.env['JOINER_TEST_SHARED_CLUSTERS'] === '1'

/** Returns a cluster in which nothing has happened since Joiner was installed: one that a suite has left, or a new one. */
export async function takeCluster(options: ServerOptions = {}): Promise<Installed> {
  // How VMs become Nodes is the simulator's own, which begins again for each suite.
  const isPlain = Object.keys(options).every((name) => name === 'cloud')
  const left = isPlain ? idle.pop() : undefined
  if (left !== undefined) {
    try {
      await reset(left, options)
      return left
    } catch (error) {
      console.warn(`a cluster could not be reset, so another is started: ${String(error)}`)
      await endCluster(left)
    }
  }
  const stateDir = await mkdtemp(join(tmpdir(), 'joiner-test-'))
  const cluster = await startCluster({ stateDir, audit: isCompared, ...options })
  const operator = new Operator(cluster)
  const installation = new Installation(cluster, operator)
  await installation.install()
  const servers = Object.keys(cluster.supervisor.pids)
  const installed = { cluster, operator, installation, servers }
  return isPlain && isSharing() ? { ...installed, state: await EtcdState.remember(cluster.ports.etcd) } : installed
}

/** Ends what a suite has started beside the servers of a cluster, such as Joiner; the last first. */
export async function endOthers({ cluster: { supervisor }, servers }: Installed): Promise<void> {
  const others = Object.keys(supervisor.pids).filter((name) => !servers.includes(name))
  for (const name of others.reverse()) await supervisor.stop(name)
}

/** Keeps a cluster in which nothing but its servers runs for the next suite, or ends it. */
export async function leaveCluster(installed: Installed): Promise<void> {
  const { cluster, servers, state } = installed
  const isWhole = servers.every((name) => cluster.supervisor.pids[name] !== undefined)
  if (state === undefined || !isWhole) return endCluster(installed)
  if (!process.listeners('SIGTERM').includes(endAtOnce)) process.on('SIGTERM', endAtOnce)
  idle.push({ ...installed, state })
}

async function endCluster({ cluster, operator, installation }: Installed): Promise<void> {
  installation.stop()
  await operator.close()
  await cluster.stop()
  await rm(cluster.stateDir, { recursive: true, force: true })
}

async function reset({ cluster, state }: Shared, options: ServerOptions): Promise<void> {
  const { supervisor, stateDir } = cluster
  const logs = dirname(supervisor.logFile('joiner'))
  const specs = await Promise.all(stateful.map(({ server }) => supervisor.stop(server)))
  await state.restore()
  const names = await readdir(stateDir)
  const gone = names.filter((name) => stateful.some(({ files }) => files.test(name)))
  await Promise.all(gone.map((name) => rm(join(stateDir, name), { recursive: true })))
  await Promise.all((await readdir(logs)).map((name) => truncate(join(logs, name))))
  await configureSimulator(cluster, options)
  for (const spec of specs) if (spec !== undefined) supervisor.start(spec)
  await untilServersAnswer(cluster)
  // Time has passed, in which controllers may have written. A cluster with other objects than a new one is not handed on.
  await state.settle()
}

/** Vitest ends its processes so, and gives them half a second. */
function endAtOnce(): void {
  for (const { cluster } of idle) {
    for (const pid of Object.values(cluster.supervisor.pids)) process.kill(-pid, 'SIGKILL')
    rmSync(cluster.stateDir, { recursive: true, force: true, maxRetries: 5 })
  }
  process.off('SIGTERM', endAtOnce)
  process.kill(process.pid, 'SIGTERM')
}
