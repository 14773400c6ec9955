import type { Logger } from 'pino'
import type { DurableDocument, KeptAnswer } from './durable-document.ts'

const hourMs = 3_600_000
/** Age above which answers are requested again. */
const lifetimeMs = 12 * hourMs
/** Longest random delay of a request, so that replicas do not all ask at once, and find what another has read meanwhile. */
const spreadMs = 0.5 * hourMs
/** Interval of reading what other replicas have stored. */
const lookEveryMs = 5 * 60_000
const firstRetryMs = 5000
const longestRetryMs = 10 * 60_000

export interface AnswerSource<T> {
  /** Its name in the log: `VM sizes`. */
  readonly what: string
  /** What a reader of the log should check when asking fails. */
  readonly remedy: string
  /** Requests the answer. Undefined when there is no source, and only what was kept is used. */
  readonly ask: (() => Promise<T>) | undefined
  /** Whether another process asks, and this one takes at once what that one stores. */
  readonly follows: boolean
  /** Whether to ask at every start, though what was kept is recent. */
  readonly asksAtStart: boolean
  readonly document: Pick<DurableDocument<T>, 'read' | 'write' | 'follow'>
}

interface Answer<T> extends KeptAnswer<T> {
  /** `list`: this process asked; `durable`: another process, or an earlier one, has kept it. */
  readonly source: 'list' | 'durable'
}

/**
 * A slow answer of Azure's without waits: the last good one. It is read from its ConfigMap at the start, requested again each twelve hours,
 * and stored for other replicas and for starts without an answer. Failures are retried with growing pauses and change nothing.
 * A process that follows sends no requests and watches the ConfigMap.
 */
export class RefreshedAnswer<T> {
  readonly #source: AnswerSource<T>
  readonly #log: Logger
  readonly #now: () => number
  #answer: Answer<T> | undefined
  #version = 0
  #failures = 0
  #timer: NodeJS.Timeout | undefined
  #endFollowing: () => void = () => {}
  #isStopped = false

  constructor(source: AnswerSource<T>, log: Logger, now: () => number) {
    this.#source = source
    this.#log = log
    this.#now = now
  }

  /** The last good answer; undefined when there was none yet. */
  get answer(): Answer<T> | undefined {
    return this.#answer
  }

  /** Changes with the answer. */
  get version(): number {
    return this.#version
  }

  /** Number of failures since the last answer. */
  get failures(): number {
    return this.#failures
  }

  /** Keeps the answer fresh in the background. */
  start(): void {
    if (!this.#source.follows) void this.#turn(this.#source.asksAtStart)
    else this.#endFollowing = this.#source.document.follow((stored) => this.#takeStored(stored), this.#log)
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#endFollowing()
  }

  /** Asks now, and stores the answer. Errors: those of asking; the last good answer stays. */
  async #ask(): Promise<void> {
    const { ask, what } = this.#source
    if (ask === undefined) throw new Error(`${what}: nobody can be asked in this cloud`)
    const value = await ask()
    const answer: Answer<T> = { value, readAtMs: this.#now(), source: 'list' }
    this.#failures = 0
    this.#use(answer)
    await this.#keep(answer)
  }

  async #keep({ value, readAtMs }: Answer<T>): Promise<void> {
    const { document, what } = this.#source
    await document
      .write({ value, readAtMs })
      .catch((error: unknown) =>
        this.#log.warn({ err: error, what }, 'failed to store answer for restarts without Azure'),
      )
  }

  async #turn(mustAsk: boolean): Promise<void> {
    await this.#look()
    if (mustAsk || this.#isDue()) await this.#tryToAsk()
    if (this.#isStopped) return
    this.#timer = setTimeout(() => void this.#turn(false), this.#failures > 0 ? this.#retryMs() : lookEveryMs)
    this.#timer.unref()
  }

  /** Takes what another replica has stored, if it is later than what is known here, which replaces one that is damaged. */
  async #look(): Promise<void> {
    try {
      const found = await this.#source.document.read()
      if (found.kind === 'read') this.#takeStored(found)
      else if (found.kind === 'damaged' && this.#answer !== undefined) await this.#keep(this.#answer)
    } catch (error) {
      this.#log.warn({ err: error, what: this.#source.what }, 'failed to read stored answer')
    }
  }

  #takeStored({ value, readAtMs }: KeptAnswer<T>): void {
    if (this.#answer === undefined || this.#answer.readAtMs < readAtMs)
      this.#use({ value, readAtMs, source: 'durable' })
  }

  async #tryToAsk(): Promise<void> {
    try {
      await this.#ask()
    } catch (error) {
      this.#failures += 1
      const { what, remedy } = this.#source
      const inUse = this.#answer === undefined ? 'there are none yet' : 'the last good ones stay in use'
      this.#log.error({ err: error, what, failures: this.#failures }, `could not be read; ${inUse}. ${remedy}`)
    }
  }

  #use(answer: Answer<T>): void {
    this.#answer = answer
    this.#version += 1
  }

  #isDue(): boolean {
    if (this.#source.ask === undefined) return false
    if (this.#answer === undefined || this.#failures > 0) return true
    // A reading that lies ahead is of a clock that was wrong.
    return Math.abs(this.#now() - this.#answer.readAtMs) >= lifetimeMs + Math.random() * spreadMs
  }

  #retryMs(): number {
    const pause = Math.min(longestRetryMs, firstRetryMs * 2 ** (this.#failures - 1))
    return pause * (0.75 + Math.random() / 4)
  }
}
