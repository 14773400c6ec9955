import type { IncomingHttpHeaders } from 'node:http'
import { patient } from '../runner/patience.ts'

/** A request as it came in. */
export interface Call {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly body: string
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface Waiting {
  readonly call: Call
  /** Carries it out, without telling who asked for it. */
  readonly send: () => Promise<Answer>
  /** Reports who asked for it. Resolves when the connection has taken the answer. */
  readonly reply: (answer: Answer) => Promise<void>
  /** Lets it through as if it had never waited. */
  readonly pass: () => void
  /** Whether who asked still waits for the answer. */
  readonly isAwaited: () => boolean
}

/** What a gate reports requests to. */
export interface Listener {
  /** Before anything is done with it. */
  readonly asked?: (call: Call) => void
  /** After the server has answered something that is no GET. */
  readonly answered?: (call: Call, answer: Answer) => void
}

/** Requests of a kind that do not reach the API server until the test says so. What is asked again, as after a timeout, waits again. */
export class Hold {
  readonly matches: (call: Call) => boolean
  #waiting: Waiting[] = []
  #isOpen = false

  constructor(matches: (call: Call) => boolean) {
    this.matches = matches
  }

  get isReached(): boolean {
    return this.#waiting.length > 0
  }

  /** How many requests wait. */
  get count(): number {
    return this.#waiting.length
  }

  /**
   * Has the server carry one request out whose answer never comes, unless the function that is returned tells it after all. A lost optimistic
   * lock is answered, so that Joiner asks again. Errors: the server refused it; no request waits within `ms`.
   */
  async carryOut(ms = patient(60_000)): Promise<() => Promise<void>> {
    const deadline = Date.now() + ms
    let conflicts = 0
    for (;;) {
      const awaited = this.#waiting.findIndex(({ isAwaited }) => isAwaited())
      const [next] = this.#waiting.splice(Math.max(awaited, 0), 1)
      if (next === undefined) {
        if (Date.now() > deadline)
          throw new Error(
            `no request to carry out within ${ms / 1000} s, after ${conflicts} optimistic locks were lost`,
          )
        await new Promise((resolve) => setTimeout(resolve, 20))
        continue
      }
      const answer = await next.send()
      // What is to be deleted may be gone already.
      if (answer.status < 300 || answer.status === 404) return () => next.reply(answer)
      if (answer.status !== 409)
        throw new Error(`${next.call.method} ${next.call.path}: ${answer.status} ${answer.text}`)
      conflicts += 1
      await next.reply(answer)
    }
  }

  /** Lets what waits through, and all that comes. */
  release(): void {
    this.#isOpen = true
    for (const { pass } of this.#waiting.splice(0)) pass()
  }

  /** Whether the request waits now. */
  take(waiting: Waiting): boolean {
    if (this.#isOpen || !this.matches(waiting.call)) return false
    this.#waiting.push(waiting)
    return true
  }
}

/** Stands between Joiner and a server: it sees what is asked for, can keep requests back, lose answers, and throttle. */
export class Gate {
  #holds: Hold[] = []
  #listener: Listener | undefined
  #throttledUntilMs = 0
  #refused = 0

  listen(listener: Listener): void {
    this.#listener = listener
  }

  hold(matches: (call: Call) => boolean): Hold {
    return this.add(new Hold(matches))
  }

  /** Has a hold see each request from now on. Returns it. */
  add(hold: Hold): Hold {
    this.#holds.push(hold)
    return hold
  }

  /** Nothing is held any more. What waited is never carried out, except by `carryOut` of its hold. */
  forget(): void {
    this.#holds = []
  }

  /** Answers everything with 429 for so long. Watches that are open go on. */
  throttle(ms: number): void {
    this.#throttledUntilMs = Date.now() + ms
    this.#refused = 0
  }

  /** Requests that the last throttling has refused. */
  get refused(): number {
    return this.#refused
  }

  stop(): void {
    this.forget()
  }

  /** Whether all passes unseen. */
  protected get isOpen(): boolean {
    return this.#holds.length === 0 && this.#listener === undefined && !this.isThrottling
  }

  /** Whether the throttling goes on. */
  protected get isThrottling(): boolean {
    return Date.now() < this.#throttledUntilMs
  }

  /** Whether a request is refused because of the throttling, which counts it. */
  protected refuses(): boolean {
    if (this.isThrottling) this.#refused += 1
    return this.isThrottling
  }

  protected asked(call: Call): void {
    this.#listener?.asked?.(call)
  }

  protected answered(call: Call, answer: Answer): void {
    this.#listener?.answered?.(call, answer)
  }

  /** Whether a hold has taken the request. */
  protected keeps(waiting: Waiting): boolean {
    return this.#holds.some((hold) => hold.take(waiting))
  }
}
