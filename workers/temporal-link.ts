import { NativeConnection, type Worker } from '@temporalio/worker'
import type { Logger } from 'pino'
import { pauseOf, whenAborted } from '../activities/abortable-wait.ts'
import { checkNamespace, connectWith } from '../starter/temporal/connect.ts'
import { type ConnectOptions, fingerprint } from '../starter/temporal/credentials.ts'
import { withDeadlines } from '../starter/temporal/deadlines.ts'
import { explainTemporal, problemText } from '../starter/temporal/problem.ts'
import type { TemporalSettings } from '../starter/temporal/settings.ts'

/** How often files of certificates and profiles are read again. */
const readEveryMs = 10_000
/** How many reads pass between two checks that the namespace can be used. */
const readsPerCheck = 3
const retryMs = 2000
/** A problem that stays is logged again after so many attempts. */
const attemptsPerLog = 150

export interface TemporalLinkInput {
  readonly settings: TemporalSettings
  readonly log: Logger
  readonly signal: AbortSignal
  /** Called with the reason why Temporal cannot be used, and with undefined when it can be used again. */
  readonly onState: (problem: string | undefined) => void
}

/**
 * A process's connection to Temporal. Certificates, keys and profiles that change on disk are taken up by a new connection, which workers and clients
 * move to without a restart. While Temporal cannot be used it says why, once, and tries again.
 */
export class TemporalLink {
  /** Stands for the connection in use: for clients, which keep it. Each call has a deadline. */
  readonly connection: NativeConnection
  readonly #input: TemporalLinkInput
  #current: NativeConnection
  #fingerprint: string
  #workers: readonly Worker[] = []
  #timer: NodeJS.Timeout | undefined
  #reads = 0
  #failures = 0
  #reportedProblem: string | undefined
  #isStopped = false

  private constructor(input: TemporalLinkInput, first: NativeConnection, options: ConnectOptions) {
    this.#input = input
    this.#current = first
    this.#fingerprint = fingerprint(options)
    this.connection = withDeadlines(() => this.#current)
    this.#next()
  }

  /** Tries until Temporal can be used. Undefined: the process is to end. */
  static async connect(input: TemporalLinkInput): Promise<TemporalLink | undefined> {
    const { settings, log, signal, onState } = input
    const aborted = whenAborted(signal)
    let reported = ''
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const options = settings.load()
        // A server that accepts and never answers must not hold up the end of the process.
        const connection = await Promise.race([connectNative(options, settings.namespace), aborted])
        if (connection === undefined) return undefined
        return new TemporalLink(input, connection, options)
      } catch (error) {
        const explained = await Promise.race([explainTemporal(settings, error), aborted])
        if (explained === undefined) return undefined
        const problem = problemText(explained)
        onState(problem)
        if (problem !== reported || attempt % attemptsPerLog === 0)
          log.warn({ address: settings.address, namespace: settings.namespace }, `${problem}; trying again`)
        reported = problem
      }
      await pauseOf(retryMs, signal)
    }
    return undefined
  }

  /** The connection in use now, for a worker that is made now. */
  get current(): NativeConnection {
    return this.#current
  }

  /** From now on these workers move to a new connection. */
  serve(workers: readonly Worker[]): void {
    this.#workers = workers
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#close(this.#current)
  }

  #next(): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(() => {
      void this.#look()
        .catch((error: unknown) => this.#report(error))
        .finally(() => this.#next())
    }, readEveryMs)
  }

  async #look(): Promise<void> {
    const { settings, log } = this.#input
    const options = settings.load()
    const print = fingerprint(options)
    if (print !== this.#fingerprint) {
      const next = await connectNative(options, settings.namespace)
      if (this.#isStopped) return this.#close(next)
      this.#replace(next)
      this.#fingerprint = print
      log.info({ address: options.address }, 'reconnected to Temporal with changed credentials')
    } else if (++this.#reads % readsPerCheck === 0) await checkNamespace(this.connection, settings.namespace)
    else return
    this.#clear()
  }

  #clear(): void {
    this.#failures = 0
    if (this.#reportedProblem === undefined) return
    this.#reportedProblem = undefined
    this.#input.onState(undefined)
    this.#input.log.info({ address: this.#input.settings.address }, 'reconnected to Temporal')
  }

  #replace(next: NativeConnection): void {
    const before = this.#current
    for (const worker of this.#workers) worker.connection = next
    this.#current = next
    void this.#close(before)
  }

  async #report(error: unknown): Promise<void> {
    if (this.#isStopped) return
    // A single answer that is late on a busy machine is no problem.
    if (++this.#failures < 2) {
      this.#reads = readsPerCheck - 1
      return
    }
    const { settings, log, onState } = this.#input
    const problem = problemText(await explainTemporal(settings, error))
    onState(problem)
    if (problem !== this.#reportedProblem || this.#failures % attemptsPerLog === 0)
      log.warn({ address: settings.address, namespace: settings.namespace }, `${problem}; trying again`)
    this.#reportedProblem = problem
    this.#reads = readsPerCheck - 1
  }

  async #close(connection: NativeConnection): Promise<void> {
    await connection
      .close()
      .catch((error: unknown) => this.#input.log.debug({ err: error }, 'connection to Temporal was already closed'))
  }
}

/**
 * Connects for workers and their clients. The native connection would wait for ever on a server that accepts and never answers, so one with a limit
 * asks first. Errors: what gRPC says.
 */
export async function connectNative(options: ConnectOptions, namespace: string): Promise<NativeConnection> {
  const probe = await connectWith(options)
  try {
    await checkNamespace(probe, namespace)
  } finally {
    await probe.close()
  }
  const { address, tls, apiKey, metadata } = options
  return NativeConnection.connect({
    address,
    tls,
    metadata: { ...metadata },
    ...(apiKey === undefined ? {} : { apiKey }),
  })
}
