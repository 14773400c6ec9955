import { totalmem } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import { threadMemory } from '../thread-memory.ts'
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

/** A thread that was started. It handles messages in order. */
export interface StartedThread {
  postMessage(message: ToSolver): void
  /** Ends it; what it was sent is not answered any more. */
  terminate(): unknown
}

/** What a thread calls while it runs, but not before its start has returned. */
interface ThreadEvents {
  /** Called with each answer, in the order of the questions. */
  readonly answered: (message: FromSolver) => void
  /** Called when it has ended by itself. */
  readonly ended: (cause: ThreadCause, error: Error) => void
}

export type StartThread = (data: ThreadData, events: ThreadEvents) => StartedThread

export interface ThreadSettings {
  readonly log: Logger
  /** How the thread starts. Default: `workerThread`, as a thread of Node. */
  readonly start?: StartThread
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
  #thread: StartedThread | undefined
  #asked: Asked[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(settings: ThreadSettings) {
    this.#settings = settings
  }

  get isRunning(): boolean {
    return this.#thread !== undefined
  }

  start(): void {
    this.#breadcrumb = new Breadcrumb()
    const { start = workerThread() } = this.#settings
    const thread = start(
      { breadcrumb: this.#breadcrumb.shared },
      {
        answered: (message) => this.#answered(thread, message),
        ended: (cause, error) => this.#fail(thread, cause, error),
      },
    )
    this.#thread = thread
  }

  send(message: ToSolver): void {
    this.#thread?.postMessage(message)
  }

  /** Asks the thread, which must be running. Errors: `ThreadFault`. */
  ask(message: ToSolver, limitMs: number): Promise<Answer> {
    const answer = new Promise<Answer>((resolve, reject) => this.#asked.push({ limitMs, resolve, reject }))
    if (this.#asked.length === 1) this.#watch()
    this.send(message)
    return answer
  }

  async stop(): Promise<void> {
    const thread = this.#forget()
    for (const { reject } of this.#asked.splice(0)) reject(new Error('the scheduler was stopped'))
    await thread?.terminate()
  }

  /** Times the oldest question, from the answer to the one before it. */
  #watch(): void {
    clearTimeout(this.#timer)
    const [head] = this.#asked
    if (head === undefined) return
    const { marginMs: margin = marginMs } = this.#settings
    const thread = this.#thread
    const late = () => {
      const message = `no answer within ${(head.limitMs + margin) / 1000} s`
      if (thread !== undefined) this.#fail(thread, 'time limit', new Error(message))
    }
    // Two timers: after the process was stopped the first one fires late, and the answer comes during the second.
    this.#timer = setTimeout(() => {
      this.#timer = setTimeout(late, margin).unref()
    }, head.limitMs).unref()
  }

  #answered(thread: StartedThread, message: FromSolver): void {
    if (this.#thread !== thread) return
    if (message.kind === 'failed') {
      const error = new Error(message.message)
      if (message.stack !== undefined) error.stack = message.stack
      this.#fail(thread, 'exception', error)
      return
    }
    this.#asked.shift()?.resolve(message)
    this.#watch()
  }

  /** Ends the thread: after a fault its state is not to be trusted. */
  #fail(thread: StartedThread, cause: ThreadCause, error: Error): void {
    if (this.#thread !== thread) return
    const fault = new ThreadFault(cause, error.message, this.#breadcrumb.read())
    if (error.stack !== undefined) fault.stack = `${fault.message}\n${error.stack}`
    this.#settings.log.error({ err: fault }, 'scheduler thread ended, the next pass starts another')
    void this.#forget()?.terminate()
    const asked = this.#asked.splice(0)
    this.#settings.onFault(fault, asked.length > 0)
    for (const { reject } of asked) reject(fault)
  }

  #forget(): StartedThread | undefined {
    const thread = this.#thread
    this.#thread = undefined
    clearTimeout(this.#timer)
    return thread
  }
}

/** Starts threads of Node that run a file. */
export function workerThread({
  file = new URL('./thread.ts', import.meta.url),
  heapMiB = defaultHeapMiB(),
}: {
  readonly file?: URL
  readonly heapMiB?: number
} = {}): StartThread {
  return (workerData, { answered, ended }) => {
    const worker = new Worker(file, { name: 'scheduler', workerData, resourceLimits: threadMemory(heapMiB) })
    worker.unref()
    worker.on('message', answered)
    worker.on('error', (error: NodeJS.ErrnoException) =>
      ended(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'heap limit' : 'exception', error),
    )
    worker.on('exit', (code) => ended('exit', new Error(`exit code ${code}`)))
    return worker
  }
}

function defaultHeapMiB(): number {
  // 0 or a huge number where the process has no limit.
  const limit = process.constrainedMemory()
  const bytes = limit > 0 && limit < totalmem() ? limit : totalmem()
  return Math.max(leastHeapMiB, Math.floor((bytes / 2 ** 20) * heapShare))
}
