import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker'
import type { Logger } from 'pino'
import { pauseOf, whenAborted } from '../activities/abortable-wait.ts'
import { checkNamespace, connectWith } from '../starter/temporal/connect.ts'
import { type ConnectOptions, fingerprint } from '../starter/temporal/credentials.ts'
import { withDeadlines } from '../starter/temporal/deadlines.ts'
import { explainTemporal, problemText } from '../starter/temporal/problem.ts'
import type { TemporalSettings } from '../starter/temporal/settings.ts'
import { TemporalRelay } from './temporal-relay.ts'

/**
 * How often the connection is checked and files of certificates and profiles are read again, how soon after a failure, and how long an answer may take.
 * A connection that is lost right after a check is reported after all of these, a second answer that did not come, and a handshake that says why: 17 s.
 */
const checkEveryMs = 4000
const checkAgainMs = 1000
const answerMs = 4000
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

/** What works in a process knows of its connection to Temporal. */
export type WorkerLink = Pick<TemporalLink, 'connection' | 'createWorker' | 'serve' | 'afterReconnect'>

/**
 * A process's connection to Temporal. Certificates, keys and profiles that change on disk are taken up by a new connection, which workers and clients
 * move to without a restart. A connection that gets no answer is cut and made again. While Temporal cannot be used it says why, once, and tries again.
 */
export class TemporalLink {
  /** Stands for the connection in use: for clients, which keep it. Each call has a deadline. */
  readonly connection: NativeConnection
  readonly #input: TemporalLinkInput
  #current: Route
  #fingerprint: string
  #workers: readonly Worker[] = []
  #reconnected: () => void = () => {}
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #reportedProblem: string | undefined
  #isStopped = false

  private constructor(input: TemporalLinkInput, first: Route, options: ConnectOptions) {
    this.#input = input
    this.#current = first
    this.#fingerprint = fingerprint(options)
    this.connection = withDeadlines(() => this.#current.connection)
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
        const route = await Promise.race([connectNative(options, settings.namespace), aborted])
        if (route === undefined) return undefined
        return new TemporalLink(input, route, options)
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

  /** Makes a worker on the connection in use. Errors: options that contradict each other. */
  createWorker(options: WorkerOptions): Promise<Worker> {
    return Worker.create({ ...options, connection: this.#current.connection })
  }

  /** From now on these workers move to a new connection. */
  serve(workers: readonly Worker[]): void {
    this.#workers = workers
  }

  /** From now on this is called each time that a connection which was lost is made again. */
  afterReconnect(listener: () => void): void {
    this.#reconnected = listener
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#close(this.#current)
  }

  #next(): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(
      () => {
        void this.#look()
          .then(
            () => this.#clear(),
            (error: unknown) => this.#report(error),
          )
          .finally(() => this.#next())
      },
      this.#failures === 1 ? checkAgainMs : checkEveryMs,
    )
  }

  async #look(): Promise<void> {
    const { settings, log } = this.#input
    const options = settings.load()
    const print = fingerprint(options)
    if (print === this.#fingerprint) return this.#check(options)
    const next = await connectNative(options, settings.namespace)
    if (this.#isStopped) return this.#close(next)
    this.#replace(next)
    this.#fingerprint = print
    log.info({ address: options.address }, 'reconnected to Temporal with changed credentials')
  }

  /** Cuts a connection that gets no answer where another one gets it. Errors: why Temporal cannot be used. */
  async #check(options: ConnectOptions): Promise<void> {
    const { namespace } = this.#input.settings
    const { connection, relay } = this.#current
    const check = () => inTime(checkNamespace(connection, namespace))
    if (this.#failures === 0) return check()
    const [own, other] = await Promise.allSettled([check(), inTime(probe(options, namespace))])
    if (own.status === 'fulfilled') return
    if (other.status === 'rejected') throw other.reason
    this.#publish('the connection to Temporal gets no answer, and a new one does; connecting again')
    relay.cut()
    await check()
  }

  #clear(): void {
    this.#failures = 0
    if (this.#reportedProblem === undefined) return
    this.#reportedProblem = undefined
    this.#input.onState(undefined)
    this.#input.log.info({ address: this.#input.settings.address }, 'reconnected to Temporal')
    this.#reconnected()
  }

  #replace(next: Route): void {
    const before = this.#current
    for (const worker of this.#workers) worker.connection = next.connection
    this.#current = next
    void this.#close(before)
  }

  async #report(error: unknown): Promise<void> {
    // A single answer that is late on a busy machine is no problem.
    if (++this.#failures < 2 || this.#isStopped) return
    this.#publish(`${problemText(await explainTemporal(this.#input.settings, error))}; trying again`)
  }

  #publish(problem: string): void {
    if (this.#isStopped) return
    const { settings, log, onState } = this.#input
    onState(problem)
    if (problem !== this.#reportedProblem || this.#failures % attemptsPerLog === 0)
      log.warn({ address: settings.address, namespace: settings.namespace }, problem)
    this.#reportedProblem = problem
  }

  async #close({ connection, relay }: Route): Promise<void> {
    relay.retire()
    await connection
      .close()
      .catch((error: unknown) => this.#input.log.debug({ err: error }, 'connection to Temporal was already closed'))
  }
}

/** A native connection, and what it goes through. */
interface Route {
  readonly connection: NativeConnection
  readonly relay: TemporalRelay
}

/**
 * Connects for workers and their clients. The native connection would wait for ever on a server that accepts and never answers, so one with a limit
 * asks first, and what hangs all the same is cut. Errors: what gRPC says.
 */
export async function connectNative(options: ConnectOptions, namespace: string): Promise<Route> {
  await probe(options, namespace)
  const { address, tls, apiKey, metadata } = options
  const relay = await TemporalRelay.open()
  try {
    const connecting = NativeConnection.connect({
      address,
      tls,
      metadata: { ...metadata },
      proxy: relay.proxy,
      ...(apiKey === undefined ? {} : { apiKey }),
    })
    return { connection: await inTime(connecting), relay }
  } catch (error) {
    relay.close()
    throw error
  }
}

/** Asks by a connection of its own. Errors: what gRPC says. */
async function probe(options: ConnectOptions, namespace: string): Promise<void> {
  const connection = await connectWith(options)
  try {
    await checkNamespace(connection, namespace)
  } finally {
    await connection.close()
  }
}

/** The deadlines of the native library do not hold while it connects. Errors: those of the work; no answer in time. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${answerMs / 1000} s`)), answerMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
