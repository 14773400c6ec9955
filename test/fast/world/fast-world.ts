import { setMaxListeners } from 'node:events'
import { readFileSync } from 'node:fs'
import { Client } from '@temporalio/client'
import type { PeerConnection } from '../../../activities/kubernetes/peers.ts'
import { digested, unpacked, type WorkflowBundle, workflowBundle } from '../../../workers/bundle.ts'
import { FakeCluster } from '../../fakes/cluster.ts'
import { type ClusterRequest, FastAzure, type FastAzureOptions } from '../azure/fast-azure.ts'
import { startControllers } from '../kubernetes/controllers/start-controllers.ts'
import { Network } from '../network.ts'
import { gatedClient, gateOfKubernetes } from '../simulated-gate.ts'
import { type ServerName, SimulatedProcess } from '../simulated-process.ts'
import { TemporalConnection } from '../temporal/temporal-connection.ts'
import { TemporalServer } from '../temporal/temporal-server.ts'
import { WorkflowHost } from '../temporal/workflow-host.ts'
import { randomNumbers } from '../virtual-clock.ts'
import { VirtualTime } from '../virtual-time.ts'
import { Joiner } from './joiner.ts'
import { SeededRandom } from './random.ts'
import { simulatedLink } from './simulated-link.ts'

export interface FastOptions {
  readonly seed?: number
  /** Whether a run leaves its worker's cache after a task, by chance: the next task begins with a replay. Default: one in five does. */
  readonly isEvicted?: (random: () => number) => boolean
  /** The length of a history from which on Temporal suggests a new run. */
  readonly suggestNewRunAt?: number
  /** What the simulated Azure is configured with otherwise. */
  readonly azure?: FastAzureOptions['settings']
  /** How many times as long as usual requests and workflow tasks take: servers that share two cores are slow. Default: 1. */
  readonly slowness?: number
}

/** When each simulated world begins: later than what the simulated Azure has had from the first. */
const startMs = Date.UTC(2026, 11, 1)

/** How far lists of Temporal are behind. */
const lagMs = 500

/** A bundle of the workflows, and what runs it. */
interface Workflows {
  readonly host: WorkflowHost
  readonly bundle: WorkflowBundle
}

let loaded: Promise<Workflows> | undefined

const workflowsOf = (bundle: WorkflowBundle): Workflows => ({
  bundle,
  host: WorkflowHost.load(bundle.code, ['observe']),
})

// Each wait of a process listens to one signal.
setMaxListeners(0)

/** Joiner and all that it works with in this process, in virtual time. One seed gives one course of events. */
export class FastWorld {
  readonly time = new VirtualTime(startMs)
  readonly cluster = new FakeCluster()
  /** What stands before the cluster's API server. */
  readonly gate = gateOfKubernetes()
  readonly network: Network
  readonly temporal: TemporalServer
  readonly client: Client
  /** Processes that live, by their names. */
  readonly joiners = new Map<string, Joiner>()
  /** Lines of the logs of all processes, by their names, of those too that are gone. */
  readonly logs = new Map<string, string[]>()
  readonly #random: SeededRandom
  readonly #connection: TemporalConnection
  readonly #workflows: Workflows
  /** Other bundles, by the paths that processes name. */
  readonly #bundles = new Map<string, Workflows>()
  #stopControllers: () => void = () => {}

  #azure: FastAzure | undefined

  private constructor(workflows: Workflows, options: FastOptions) {
    const { seed = 1, slowness = 1, isEvicted = (random) => random() < 0.2, azure: _, ...more } = options
    this.#workflows = workflows
    this.#random = new SeededRandom(seed)
    const { clock } = this.time
    const random = randomNumbers(seed)
    // All of the time passes on one of the two ways, by chance: what others do in it comes before the effect, or between effect and answer.
    this.network = new Network((request) => {
      const ms = slowness * (isOfKubernetes(request) ? 2 : 20) * (1 + random())
      return random() < 0.5 ? { there: ms, back: 0 } : { there: 0, back: ms }
    })
    this.temporal = new TemporalServer(clock, {
      ...more,
      seed,
      isEvicted,
      knowsAttribute: (name) => this.#connection.takesText(name),
      taskLatencyMs: (draw) => Math.ceil(slowness * 5 * draw()),
    })
    this.#connection = new TemporalConnection(this.temporal, { clock, lagMs, random: randomNumbers(seed) })
    this.client = new Client({ connection: this.#connection.connection })
    this.cluster.put('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system' } })
  }

  /** Begins a world without Joiner. */
  static async start(options: FastOptions = {}): Promise<FastWorld> {
    loaded ??= workflowBundle().then(workflowsOf)
    const world = new FastWorld(await loaded, options)
    const { network, cluster } = world
    const ask: ClusterRequest = async (method, path, body, { patch } = {}) => {
      const { status, body: answer } = await cluster.respond(method as never, path, body, patch)
      return { status, text: JSON.stringify(answer) }
    }
    const { azure: settings = {}, seed = 1 } = options
    world.#azure = await FastAzure.start({ network, seed, settings, cluster: ask })
    world.#stopControllers = startControllers(cluster, { seed }).stop
    return world
  }

  /** What runs the workflows of processes that name no other bundle. */
  get workflowHost(): WorkflowHost {
    return this.#workflows.host
  }

  /** What is wrong with Temporal beside being away. */
  get temporalFaults(): Pick<TemporalConnection, 'isVisibilityDown'> {
    return this.#connection
  }

  get azure(): FastAzure {
    if (this.#azure === undefined) throw new Error('the world has not begun')
    return this.#azure
  }

  /** Errors: a workflow task that failed, which Temporal would try again for ever. */
  throwFailures(): void {
    const { failure } = this.temporal
    if (failure !== undefined) throw failure
  }

  /** Starts a process of Joiner. Errors: one of its name lives. */
  startJoiner(name: string, env: Readonly<Record<string, string>>): void {
    if (this.joiners.has(name)) throw new Error(`${name} runs already`)
    const process = new SimulatedProcess(name)
    const log = this.logs.get(name) ?? []
    this.logs.set(name, log)
    const connection = this.network.connectionOf(this.#connection.connection) as never
    const { host, bundle } = this.#workflowsAt(env['JOINER_WORKFLOW_BUNDLE'])
    const joiner = new Joiner({
      process,
      env,
      log,
      kubernetes: (answered) =>
        this.network.clientOf(
          gatedClient(this.cluster.client, this.gate),
          (method, [path]) => `${method} ${String(path)}`,
          answered,
        ),
      azure: this.azure,
      workflowBundle: bundle,
      link: simulatedLink({ process, temporal: this.temporal, connection, host }),
      hasTemporal: () => !this.temporal.isAway && !process.isCutFrom('temporal'),
      peers: { address: name, connect: (address) => this.#connectTo(address) },
    })
    this.joiners.set(name, joiner)
    void joiner.ended.then(() => this.#gone(name, joiner))
  }

  /** Sets the clock of a process's machine: it is ahead by so much, or behind. Errors: no process of that name lives. */
  setClock(name: string, aheadMs: number): void {
    const joiner = this.joiners.get(name)
    if (joiner === undefined) throw new Error(`${name} does not run`)
    joiner.process.skewMs = aheadMs
  }

  /** `kill -9`. */
  crash(name: string): void {
    const joiner = this.joiners.get(name)
    if (joiner !== undefined) this.#gone(name, joiner)
  }

  /** No packet goes between a process and a server, for a while. Errors: no process of that name lives. */
  cut(name: string, server: ServerName, ms: number): void {
    const process = this.joiners.get(name)?.process
    if (process === undefined) throw new Error(`${name} does not run`)
    process.cut(server)
    const again = () => (server === 'temporal' ? this.temporal.reach(process) : process.reach(server))
    SimulatedProcess.outside(() => setTimeout(again, ms))
  }

  /** SIGTERM. Resolves when the process has ended. */
  async stop(name: string): Promise<void> {
    const joiner = this.joiners.get(name)
    joiner?.stop()
    await joiner?.ended
  }

  /** Temporal is away for a while, and has nothing of what it had when it is back. */
  loseTemporal(awayMs: number): void {
    this.temporal.leave(awayMs)
    this.temporal.forget()
    this.#connection.forget()
  }

  dispose(): void {
    this.#stopControllers()
    this.azure.stop()
    for (const name of this.joiners.keys()) this.crash(name)
    for (const run of this.temporal.runs) run.evict()
    this.#random[Symbol.dispose]()
    this.time[Symbol.dispose]()
  }

  /** As a kernel does: for a process that is frozen it accepts, and for one that is killed it closes, and refuses. */
  async #connectTo(name: string): Promise<PeerConnection> {
    const process = this.joiners.get(name)?.process
    if (process === undefined) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    const broken = new AbortController()
    const close = () => broken.abort()
    const asking = SimulatedProcess.current
    process.whenKilled(() => (asking === undefined ? close() : asking.deliver(close)))
    return { broken: broken.signal, close }
  }

  #workflowsAt(path: string | undefined): Workflows {
    if (path === undefined) return this.#workflows
    const workflows = this.#bundles.get(path) ?? workflowsOf(digested(unpacked(path, readFileSync(path))))
    this.#bundles.set(path, workflows)
    return workflows
  }

  #gone(name: string, joiner: Joiner): void {
    this.temporal.kill(joiner.process)
    if (this.joiners.get(name) === joiner) this.joiners.delete(name)
  }
}

/** Requests of Kubernetes are named by whole paths. */
const isOfKubernetes = (request: string) => / \//.test(request)
