import { totalmem } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import { Breadcrumb, type InHand } from './breadcrumb.ts'
import type { FromSolver, ThreadData, ToSolver } from './messages.ts'

/** Time that a thread may be late by before it is ended. It may have to read all of a large cluster before it begins. */
const marginMs = 30_000
const leastHeapMiB = 512
/** Share of the process's memory that a thread's heap may use. */
const heapShare = 0.4

export type ThreadCause = 'exception' | 'heap limit' | 'time limit' | 'exit'

/** Thrown when a thread failed and was ended. */
export class ThreadFault extends Error {
  override readonly name = 'ThreadFault'
  readonly inHand: InHand | undefined

  /** `inHand`: the object that the thread was working on, if that is known. */
  constructor(cause: ThreadCause, message: string, inHand: InHand | undefined) {
    super(`scheduler ended by ${cause}: ${message}${inHand === undefined ? '' : ` (at work on ${inHand.id})`}`)
    this.inHand = inHand
  }
}

export interface ThreadSettings {
  readonly log: Logger
  /** The file that it runs. */
  readonly file?: URL
  readonly heapMiB?: number
  readonly marginMs?: number
  /** Called when the thread has failed. `isAsked`: callers wait for answers and receive the error. */
  readonly onFault: (fault: ThreadFault, isAsked: boolean) => void
}

type Answer = Exclude<FromSolver, { readonly kind: 'failed' }>

interface Asked {
  readonly limitMs: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
}

/**
 * A solver's thread that is ended when it throws, runs out of memory, or does not answer in time. It is started again only on request. Answers
 * come in the order of the questions.
 */
export class SupervisedThread {
  readonly #settings: ThreadSettings
  #breadcrumb = new Breadcrumb()
  #worker: Worker | undefined
  #asked: Asked[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(settings: ThreadSettings) {
    this.#settings = settings
  }

  get isRunning(): boolean {
    return this.#worker !== undefined
  }

  start(): void {
    const { file = new URL('./thread.ts', import.meta.url), heapMiB = defaultHeapMiB() } = this.#settings
    this.#breadcrumb = new Breadcrumb()
    const worker = new Worker(file, {
      name: 'scheduler',
      workerData: { breadcrumb: this.#breadcrumb.shared } satisfies ThreadData,
      resourceLimits: { maxOldGenerationSizeMb: heapMiB },
    })
    worker.unref()
    worker.on('message', (message: FromSolver) => this.#answered(worker, message))
    worker.on('error', (error: NodeJS.ErrnoException) =>
      this.#fail(worker, error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'heap limit' : 'exception', error),
    )
    worker.on('exit', (code) => this.#fail(worker, 'exit', new Error(`exit code ${code}`)))
    this.#worker = worker
  }

  send(message: ToSolver): void {
    this.#worker?.postMessage(message)
  }

  /** Asks the thread, which must be running. Errors: `ThreadFault`. */
  ask(message: ToSolver, limitMs: number): Promise<Answer> {
    const answer = new Promise<Answer>((resolve, reject) => this.#asked.push({ limitMs, resolve, reject }))
    if (this.#asked.length === 1) this.#watch()
    this.send(message)
    return answer
  }

  async stop(): Promise<void> {
    const worker = this.#forget()
    for (const { reject } of this.#asked.splice(0)) reject(new Error('the scheduler was stopped'))
    await worker?.terminate()
  }

  /** Times the oldest question, from the answer to the one before it. */
  #watch(): void {
    clearTimeout(this.#timer)
    const [head] = this.#asked
    if (head === undefined) return
    const { marginMs: margin = marginMs } = this.#settings
    const worker = this.#worker
    const late = () => {
      const message = `no answer within ${(head.limitMs + margin) / 1000} s`
      if (worker !== undefined) this.#fail(worker, 'time limit', new Error(message))
    }
    // Two timers: after the process was stopped the first one fires late, and the answer comes during the second.
    this.#timer = setTimeout(() => {
      this.#timer = setTimeout(late, margin).unref()
    }, head.limitMs).unref()
  }

  #answered(worker: Worker, message: FromSolver): void {
    if (this.#worker !== worker) return
    if (message.kind === 'failed') {
      const error = new Error(message.message)
      if (message.stack !== undefined) error.stack = message.stack
      this.#fail(worker, 'exception', error)
      return
    }
    this.#asked.shift()?.resolve(message)
    this.#watch()
  }

  /** Ends the thread: after a fault its state is not to be trusted. */
  #fail(worker: Worker, cause: ThreadCause, error: Error): void {
    if (this.#worker !== worker) return
    const fault = new ThreadFault(cause, error.message, this.#breadcrumb.read())
    if (error.stack !== undefined) fault.stack = `${fault.message}\n${error.stack}`
    this.#settings.log.error({ err: fault }, 'scheduler thread ended, the next pass starts another')
    void this.#forget()?.terminate()
    const asked = this.#asked.splice(0)
    this.#settings.onFault(fault, asked.length > 0)
    for (const { reject } of asked) reject(fault)
  }

  #forget(): Worker | undefined {
    const worker = this.#worker
    this.#worker = undefined
    clearTimeout(this.#timer)
    return worker
  }
}

function defaultHeapMiB(): number {
  // 0 or a huge number where the process has no limit.
  const limit = process.constrainedMemory()
  const bytes = limit > 0 && limit < totalmem() ? limit : totalmem()
  return Math.max(leastHeapMiB, Math.floor((bytes / 2 ** 20) * heapShare))
}
