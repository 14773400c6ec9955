import { AsyncLocalStorage } from 'node:async_hooks'

/** When it is the turn of a request, or of a section of several. */
export interface Turn {
  /** When it would come if all were alike, ms of any clock: what began first ends first, and what is less urgent counts as begun later. */
  readonly at: number
  /** Ends the wait, unless it has fired before: what cleans up after a cancellation needs its writes. */
  readonly ends?: AbortSignal | undefined
}

/** A request that waits for its turn. */
export interface GatedRequest {
  /** Requests of a kind take about equally long, such as `PATCH nodes`. */
  readonly kind: string
  readonly turn: Turn
  /** Of its caller. */
  readonly signal?: AbortSignal | undefined
}

interface Waiting {
  readonly at: number
  readonly admit: () => void
  readonly refuse: (error: Error) => void
}

/** How a process is held up by its API server: how many requests it may have in flight, and how many wait. */
export interface HeldUp {
  readonly limit: number
  readonly waiting: number
}

export interface RequestGateSettings {
  /** Milliseconds from any moment. */
  readonly now: () => number
  /** Called for each request that is sent, with how long it waited. */
  readonly waited?: (seconds: number) => void
}

/** Requests in flight that any API server bears. */
const fewest = 8
/** As many as the client has connections. */
const most = 64
const first = 32
/** An answer is slow that takes this many times as long as its kind's fastest of the last minutes ... */
const slowFactor = 5
/** ... and at least as long as this: below, more in flight harm nobody. */
const slowMs = 100
/** Weight of an answer in the share of slow ones: some 20 answers decide. */
const weight = 0.05
/** Time until the answers to a smaller limit are there. */
const settleMs = 1000
const usualWindowMs = 60_000
/** Overload after this long is as good as no answer. */
const silenceMs = 5000
/** So many in a row without an answer: those that wait would only find the same, one round of time limits after the other. */
const silentInARow = fewest

/**
 * Admits as many requests at once as the API server answers without delay. More only make each answer later, until requests run into their time limits
 * and are sent again, which is more work for it. The limit falls when most answers are slow or the server is overloaded, and grows while it is used.
 */
export class RequestGate {
  readonly #settings: RequestGateSettings
  readonly #usual = new Map<string, { fromMs: number; least: number; before: number }>()
  /** By turn, the next one last. */
  readonly #queue: Waiting[] = []
  /** What has its turn, and what it has started; that lasts longer. */
  readonly #holder = new AsyncLocalStorage<{ hasTurn: boolean }>()
  #limit = first
  #inFlight = 0
  #slowShare = 0
  #loweredMs = Number.NEGATIVE_INFINITY
  #silent = 0

  constructor(settings: RequestGateSettings) {
    this.#settings = settings
  }

  /** How many may be in flight, and how many wait. */
  get state(): HeldUp {
    return { limit: Math.floor(this.#limit), waiting: this.#queue.length }
  }

  /** Set while slow answers have lowered the limit, and requests wait for it: the API server, and not what is asked of it, decides how fast all goes. */
  get heldUp(): HeldUp | undefined {
    const { limit, waiting } = this.state
    return limit < first && waiting > 0 ? { limit, waiting } : undefined
  }

  get isBusy(): boolean {
    return this.#inFlight >= this.#limit / 2
  }

  /**
   * Sends a request when it is its turn. `isOverload`: whether an error of it says that the server has too much to do. Errors: those of `send`; the
   * signal's reason while it waits; that the server answers nothing, which others have found meanwhile.
   */
  async through<Answer>(
    request: GatedRequest,
    send: () => Promise<Answer>,
    isOverload: (error: unknown) => boolean,
  ): Promise<Answer> {
    const { kind, turn, signal } = request
    const answered = async () => {
      const sentMs = this.#settings.now()
      const tookMs = () => this.#settings.now() - sentMs
      try {
        const answer = await send()
        this.#know(kind, tookMs())
        this.#learn(kind, tookMs(), false)
        return answer
      } catch (error) {
        // What its caller called off says nothing of the server.
        if (signal?.aborted !== true) this.#learn(kind, tookMs(), isOverload(error))
        throw error
      }
    }
    signal?.throwIfAborted()
    return this.hold(signal === undefined ? turn : { ...turn, ends: both(signal, turn.ends) }, answered)
  }

  /** Whether who asks holds a turn. */
  get isHeld(): boolean {
    return this.#holder.getStore()?.hasTurn === true
  }

  /** Runs several requests, one after the other, when it is their turn; `through` of each does not wait. No turn: they do not wait either. */
  async hold<Result>(turn: Turn | undefined, section: () => Promise<Result>): Promise<Result> {
    if (turn === undefined || this.isHeld) return section()
    const askedMs = this.#settings.now()
    await this.#admitted(turn)
    this.#settings.waited?.((this.#settings.now() - askedMs) / 1000)
    const holder = { hasTurn: true }
    try {
      return await this.#holder.run(holder, section)
    } finally {
      holder.hasTurn = false
      this.#inFlight -= 1
      this.#admitNext()
    }
  }

  async #admitted({ at, ends: given }: Turn): Promise<void> {
    if (this.#inFlight < Math.floor(this.#limit)) {
      this.#inFlight += 1
      return
    }
    const ends = given?.aborted === true ? undefined : given
    await new Promise<void>((resolve, reject) => {
      const waiting: Waiting = {
        at,
        admit: () => {
          ends?.removeEventListener('abort', leave)
          resolve()
        },
        refuse: (error) => {
          ends?.removeEventListener('abort', leave)
          reject(error)
        },
      }
      const leave = () => {
        this.#queue.splice(this.#queue.indexOf(waiting), 1)
        reject(ends?.reason as Error)
      }
      ends?.addEventListener('abort', leave, { once: true })
      this.#queue.splice(this.#placeOf(at), 0, waiting)
    })
  }

  /** Where a turn belongs: before those that come later, and before its equals, which asked earlier and so go first. */
  #placeOf(at: number): number {
    let [from, to] = [0, this.#queue.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      if ((this.#queue[middle]?.at ?? 0) > at) from = middle + 1
      else to = middle
    }
    return from
  }

  #admitNext(): void {
    while (this.#inFlight < Math.floor(this.#limit)) {
      const next = this.#queue.pop()
      if (next === undefined) return
      this.#inFlight += 1
      next.admit()
    }
  }

  #learn(kind: string, ms: number, isOverload: boolean): void {
    this.#silent = isOverload && ms >= silenceMs ? this.#silent + 1 : 0
    if (this.#silent >= silentInARow) this.#refuseAll()
    const isSlow = isOverload || ms > Math.max(slowMs, slowFactor * this.#usualMs(kind, ms))
    this.#slowShare += (Number(isSlow) - this.#slowShare) * weight
    const nowMs = this.#settings.now()
    if (isOverload || this.#slowShare > 0.5) {
      if (nowMs - this.#loweredMs < settleMs) return
      this.#loweredMs = nowMs
      this.#slowShare = 0
      this.#limit = Math.max(fewest, this.#limit * 0.75)
    } else if (!isSlow && this.#inFlight >= Math.floor(this.#limit)) {
      this.#limit = Math.min(most, this.#limit + 1 / this.#limit)
    }
  }

  /** Each request that comes later waits for those in flight, and so asks the server again. */
  #refuseAll(): void {
    const error = new Error(`not sent: the API server has answered none of the last ${this.#silent} requests`)
    for (const { refuse } of this.#queue.splice(0).reverse()) refuse(error)
  }

  /** The least time of a kind in this window of a minute and the one before. */
  #usualMs(kind: string, ms: number): number {
    const known = this.#usual.get(kind)
    return known === undefined ? ms : Math.min(known.least, known.before)
  }

  /** Only of what the server has done: refusals are quick, however much it has to do. */
  #know(kind: string, ms: number): void {
    const nowMs = this.#settings.now()
    const known = this.#usual.get(kind)
    if (known === undefined) this.#usual.set(kind, { fromMs: nowMs, least: ms, before: ms })
    else if (nowMs - known.fromMs > usualWindowMs) {
      known.fromMs = nowMs
      known.before = known.least
      known.least = ms
    } else known.least = Math.min(known.least, ms)
  }
}

function both(signal: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  return other === undefined || other.aborted ? signal : AbortSignal.any([signal, other])
}
