import pino, { type Logger, stdTimeFunctions } from 'pino'
import { Registry } from 'prom-client'
import { readCloud } from '../../../activities/azure/access/azure-config.ts'
import type { AzureIdentity } from '../../../activities/azure/access/azure-identity.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import type { Peers } from '../../../activities/kubernetes/peers.ts'
import { exposition } from '../../../activities/telemetry/gauge-family.ts'
import { noTracing } from '../../../activities/telemetry/tracing.ts'
import { readConfig } from '../../../api/config.ts'
import type { TemporalSettings } from '../../../starter/temporal/settings.ts'
import type { WorkflowBundle } from '../../../workers/bundle.ts'
import { workAs } from '../../../workers/joiner-process.ts'
import { serverTimeOf } from '../../../workers/kubernetes-client.ts'
import { connected, Readiness } from '../../../workers/readiness.ts'
import type { GaugeSource } from '../../../workers/telemetry/metrics-text.ts'
import type { WorkerLink } from '../../../workers/temporal-link.ts'
import { faultyScheduler } from '../../faults/faulty-scheduler.ts'
import type { FastAzure } from '../azure/fast-azure.ts'
import { inProcessSolver, solverInProcess } from '../in-process-solver.ts'
import type { Answered } from '../network.ts'
import type { SimulatedProcess } from '../simulated-process.ts'

export interface JoinerInput {
  readonly process: SimulatedProcess
  readonly env: Readonly<Record<string, string>>
  /** Receives the lines of its log, as JSON. */
  readonly log: string[]
  /** Its client, which tells of each answer. */
  readonly kubernetes: (answered: Answered) => KubernetesClient
  readonly azure: Pick<FastAzure, 'http' | 'credential'>
  readonly link: WorkerLink
  readonly workflowBundle: WorkflowBundle
  readonly peers: Peers
  /** Whether it reaches Temporal now. */
  readonly hasTemporal: () => boolean
}

const settings: TemporalSettings = {
  address: 'simulated:7233',
  namespace: 'default',
  load: () => {
    throw new Error('a simulated process reads no files of Temporal')
  },
}

/** A process of Joiner: everything that `joiner worker` runs once it is connected, in a simulated process. */
export class Joiner {
  readonly process: SimulatedProcess
  readonly #registry = new Registry()
  readonly #gauges: GaugeSource[] = []
  readonly #stop = new AbortController()
  /** Settles with the process: undefined, or why it ended. */
  readonly ended: Promise<unknown>

  constructor(input: JoinerInput) {
    this.process = input.process
    const log = pino(
      { base: null, formatters: { level: (level) => ({ level }) }, timestamp: stdTimeFunctions.isoTime },
      { write: (line: string) => void input.log.push(line.trimEnd()) },
    )
    this.ended = input.process.run(() =>
      this.#work(input, log).then(
        () => undefined,
        (error: unknown) => {
          log.fatal({ err: error }, 'stopping, a component failed')
          return error
        },
      ),
    )
  }

  /** SIGTERM. */
  stop(): void {
    this.process.deliver(() => this.#stop.abort())
  }

  /** What Prometheus reads of it. */
  metrics(): Promise<string> {
    return this.process.run(async () => {
      const parts = [await this.#registry.metrics()]
      for await (const part of exposition(this.#gauges.flatMap((source) => source()))) parts.push(part)
      return parts.join('')
    })
  }

  async #work(
    { env, azure, link, workflowBundle, peers, hasTemporal, ...input }: JoinerInput,
    log: Logger,
  ): Promise<void> {
    const read = readConfig(env)
    if (read.kind === 'errors') throw new Error(read.errors.join('\n'))
    const { config } = read
    const serverTime = serverTimeOf(log, this.#registry)
    const readiness = new Readiness()
    // As the product's link to Temporal does, which looks as often.
    setInterval(() => (hasTemporal() ? readiness.has(connected) : readiness.lacks(connected)), 12_000)
    const kubernetes = input.kubernetes((date, sentMs) => serverTime.answered(date, sentMs))
    await workAs({
      config,
      settings,
      cloud: await readCloud(config),
      identity: { credential: azure.credential } as AzureIdentity,
      azureHttp: azure.http,
      solverThread: isFaulty(env) ? solverInProcess(faultyScheduler) : inProcessSolver,
      kubernetes,
      serverTime,
      ownership: {
        kubernetes,
        release: config.JOINER_RELEASE,
        namespace: config.JOINER_NAMESPACE,
        mayClaim: true,
        log,
      },
      log,
      signal: this.#stop.signal,
      link,
      workflowBundle,
      peers,
      readiness,
      gauges: this.#gauges,
      leases: new Map(),
      tracing: noTracing,
      onWorking: () => {},
      registry: this.#registry,
    })
  }
}

/** Whether a real process would load test/faults. */
const isFaulty = (env: Readonly<Record<string, string>>) =>
  env['NODE_OPTIONS']?.includes('/test/faults/preload.ts') === true
