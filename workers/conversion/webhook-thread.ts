import { Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import { Counter, type Registry, register } from 'prom-client'
import { threadMemory } from '../../activities/thread-memory.ts'
import { type WebhookLimits, webhookLimits } from './limits.ts'
import type { FromWebhook, ThreadInput, ToWebhook } from './messages.ts'
import type { Serving } from './webhook.ts'

/** A thread that ends is started again after this long, and after twice as long each time that it does not last. */
const firstRestartMs = 500
const longestRestartMs = 30_000
const lastingMs = 60_000
/** A flood is one line in the log in so long. */
const reportEveryMs = 60_000

interface Input {
  readonly port: number
  readonly log: Logger
  /** Called once, when requests are answered for the first time. */
  readonly onServing: () => void
  readonly limits?: WebhookLimits
  readonly registry?: Registry
}

/** The conversion webhook in a thread of its own, which is started again whenever it ends, be it for want of memory. */
export class WebhookThread {
  readonly #input: Input
  readonly #limits: WebhookLimits
  readonly #requests: Counter
  readonly #restarts: Counter
  #serving: Serving | undefined
  #worker: Worker | undefined
  #timer: NodeJS.Timeout | undefined
  #port: number | undefined
  #isStopped = false
  #reportedAtMs = Number.NEGATIVE_INFINITY
  #startedAtMs = 0
  #restartMs = firstRestartMs

  constructor(input: Input) {
    this.#input = input
    this.#limits = input.limits ?? webhookLimits
    const registers = [input.registry ?? register]
    this.#requests = new Counter({
      name: 'joiner_conversion_requests_total',
      help: 'Requests to the conversion webhook by HTTP status; closed: connections beyond the limit.',
      labelNames: ['code'],
      registers,
    })
    this.#restarts = new Counter({
      name: 'joiner_conversion_restarts_total',
      help: "How often the conversion webhook's thread ended and was started again.",
      registers,
    })
  }

  /** Where it listens; undefined: not yet. */
  get port(): number | undefined {
    return this.#port
  }

  /** Serves with this certificate and path from now on. */
  use(serving: Serving): void {
    this.#serving = serving
    const message: ToWebhook = { kind: 'use', serving }
    if (this.#worker === undefined) this.#start()
    else this.#worker?.postMessage(message)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#worker?.terminate()
  }

  #start(): void {
    if (this.#serving === undefined || this.#isStopped) return
    clearTimeout(this.#timer)
    const worker = new Worker(new URL('./thread.ts', import.meta.url), {
      name: 'conversion',
      // It needs no credentials, and what runs into it should find none.
      env: {},
      resourceLimits: threadMemory(this.#limits.heapMiB),
      workerData: { port: this.#input.port, serving: this.#serving, limits: this.#limits } satisfies ThreadInput,
    })
    this.#worker = worker
    this.#startedAtMs = performance.now()
    worker.on('message', (message: FromWebhook) => this.#reported(message))
    worker.on('error', (error) => this.#ended(worker, error))
    worker.on('exit', (code) => this.#ended(worker, new Error(`it ended with ${code}`)))
  }

  #reported(message: FromWebhook): void {
    const { log, onServing } = this.#input
    if (message.kind === 'listening') {
      const isFirst = this.#port === undefined
      this.#port = message.port
      log.info({ port: message.port }, 'serving conversion webhook')
      if (isFirst) onServing()
      return
    }
    this.#requests.inc({ code: 200 }, message.answered)
    for (const [why, count] of message.refused) this.#requests.inc({ code: String(why) }, count)
    if (message.failure !== undefined) log.warn({ reason: message.failure }, 'conversion failed')
    const now = performance.now()
    if (message.refused.length === 0 || now - this.#reportedAtMs < reportEveryMs) return
    this.#reportedAtMs = now
    log.warn(
      { refused: Object.fromEntries(message.refused) },
      'refused requests to the conversion webhook within a second; only the API server should call it: a NetworkPolicy keeps others out',
    )
  }

  /** Errors come before the exit, which reports the same end. */
  #ended(worker: Worker, error: Error): void {
    if (this.#worker !== worker || this.#isStopped) return
    this.#worker = undefined
    this.#restarts.inc()
    if (performance.now() - this.#startedAtMs >= lastingMs) this.#restartMs = firstRestartMs
    this.#input.log.error(
      { err: error, restartMs: this.#restartMs },
      "the conversion webhook's thread ended; it is started again",
    )
    this.#timer = setTimeout(() => this.#start(), this.#restartMs)
    this.#restartMs = Math.min(longestRestartMs, this.#restartMs * 2)
  }
}
