import { TokenBucket } from '../../kubernetes/client/token-bucket.ts'
import { type ArmBucket, armBuckets, armLimits } from './arm-limits.ts'

export interface ArmBudgetOptions {
  /** Share of each of Azure's limits that this process may use. */
  readonly share: number
  /** Milliseconds of a clock that is never set back. */
  readonly now: () => number
  /** Called for each request that passes, with the seconds that it waited and the bucket that kept it last, or its own when none did. */
  readonly waited?: (bucket: ArmBucket, seconds: number) => void
  readonly limits?: Readonly<Record<ArmBucket, { readonly burst: number; readonly perSecond: number }>>
}

/** A request's wait, and the bucket that kept it last. */
export interface Passage {
  readonly waitedMs: number
  readonly heldBy: ArmBucket | undefined
}

/** Thrown when too many requests wait already: the caller has to retry later. */
export class ArmBudgetExhausted extends Error {
  override readonly name = 'ArmBudgetExhausted'
  readonly bucket: ArmBucket
  readonly retryAfterMs: number

  constructor(bucket: ArmBucket, retryAfterMs: number) {
    const seconds = Math.ceil(retryAfterMs / 1000)
    super(
      `the budget of ARM requests "${bucket}" is used up for ${seconds} s; it is tried again then. If this lasts, start fewer nodes at once, raise JOINER_ARM_BUDGET_SHARE, or look for what else uses the subscription's limits in this region`,
    )
    this.bucket = bucket
    this.retryAfterMs = retryAfterMs
  }
}

/** After Azure's time is over, the longest wait for the answer to the first request; then the next one is sent. */
const probeMs = 1000

interface Waiter {
  readonly buckets: readonly ArmBucket[]
  readonly sinceMs: number
  heldBy: ArmBucket | undefined
  readonly pass: (passage: Passage) => void
}

/**
 * This process's part of Azure's token buckets. Requests pass in the order in which they came, each when all its buckets have a token.
 * A bucket that Azure called empty stays closed until Azure's own time. Then one request asks, and the others follow once Azure has served it.
 */
export class ArmBudget {
  readonly #now: () => number
  readonly #buckets: ReadonlyMap<ArmBucket, TokenBucket>
  readonly #rates: ReadonlyMap<ArmBucket, number>
  /** Until when rejected requests have to stay away. */
  readonly #sentAwayUntil = new Map<ArmBucket, number>()
  /** Buckets that Azure called empty and from which it has served no request since, with the time when the next one may ask. */
  readonly #doubtful = new Map<ArmBucket, number>()
  readonly #queue = new Set<Waiter>()
  readonly #waited: (bucket: ArmBucket, seconds: number) => void
  #timer: NodeJS.Timeout | undefined

  constructor({ share, now, waited = () => {}, limits = armLimits }: ArmBudgetOptions) {
    this.#waited = waited
    this.#now = now
    this.#rates = new Map(armBuckets.map((name) => [name, limits[name].perSecond * share]))
    this.#buckets = new Map(
      armBuckets.map((name) => {
        const { burst, perSecond } = limits[name]
        return [name, new TokenBucket({ burst: Math.max(1, burst * share), perSecond: perSecond * share }, now())]
      }),
    )
  }

  /**
   * Waits for a token of each bucket. Errors: `ArmBudgetExhausted` at once where the wait would be longer than `patienceMs`; the signal's reason.
   */
  pass(buckets: readonly ArmBucket[], patienceMs: number, signal?: AbortSignal): Promise<Passage> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(reasonOf(signal))
      const expected = this.#expectedWait(buckets)
      if (expected.ms > patienceMs) return reject(this.#sentAway(expected.bucket, expected.ms))
      const cancelled = () => {
        this.#queue.delete(waiter)
        reject(reasonOf(signal))
        this.#pump()
      }
      const waiter: Waiter = {
        buckets,
        sinceMs: this.#now(),
        heldBy: undefined,
        pass: (passage) => {
          signal?.removeEventListener('abort', cancelled)
          resolve(passage)
        },
      }
      signal?.addEventListener('abort', cancelled, { once: true })
      this.#queue.add(waiter)
      this.#pump()
    })
  }

  /** Closes buckets that Azure refused for lack of tokens, until that time is over. */
  refused(buckets: Iterable<ArmBucket>, retryAfterMs: number): void {
    const now = this.#now()
    for (const name of buckets) {
      this.#bucket(name).close(now + retryAfterMs, now)
      this.#doubtful.set(name, now)
    }
    this.#pump()
  }

  /** Lets requests follow one that Azure did not refuse. While a bucket is closed, that one was sent before the refusal and proves nothing. */
  served(buckets: readonly ArmBucket[]): void {
    const now = this.#now()
    const open = buckets.filter((name) => !this.#bucket(name).isClosed(now) && this.#doubtful.delete(name))
    if (open.length > 0) this.#pump()
  }

  /** Returns whether Azure called one of these buckets empty, and its time is not over. */
  isClosed(buckets: readonly ArmBucket[]): boolean {
    return buckets.some((name) => this.#bucket(name).isClosed(this.#now()))
  }

  /** Puts back the tokens of a request that had passed and is not sent after all. */
  giveBack(buckets: readonly ArmBucket[]): void {
    const now = this.#now()
    for (const name of buckets) {
      this.#bucket(name).giveBack(now)
      if (this.#doubtful.has(name)) this.#doubtful.set(name, now)
    }
    this.#pump()
  }

  /** Records how many tokens Azure says a bucket has left for this process. */
  learn(bucket: ArmBucket, left: number): void {
    this.#bucket(bucket).lower(left, this.#now())
  }

  /** Returns the tokens that each bucket holds now. */
  levels(): ReadonlyMap<ArmBucket, number> {
    const now = this.#now()
    return new Map([...this.#buckets].map(([name, bucket]) => [name, bucket.level(now)]))
  }

  /** Lets requests pass, in order: later ones do not drain a bucket that an earlier one waits for. */
  #pump(): void {
    clearTimeout(this.#timer)
    const now = this.#now()
    const short = new Set<ArmBucket>()
    let nextMs = Number.POSITIVE_INFINITY
    for (const waiter of this.#queue) {
      const lacking = waiter.buckets.filter((name) => short.has(name) || this.#waitMs(name, now) > 0)
      if (lacking.length === 0) {
        for (const name of waiter.buckets) this.#take(name, now)
        this.#queue.delete(waiter)
        this.#passed(waiter, now - waiter.sinceMs)
        continue
      }
      waiter.heldBy = lacking.at(-1)
      if (!lacking.some((name) => short.has(name)))
        nextMs = Math.min(nextMs, Math.max(...lacking.map((name) => this.#waitMs(name, now))))
      for (const name of lacking) short.add(name)
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#timer = setTimeout(() => this.#pump(), Math.max(1, nextMs))
  }

  #waitMs(name: ArmBucket, now: number, ahead = 0): number {
    return Math.max(this.#bucket(name).waitMs(now, ahead), (this.#doubtful.get(name) ?? now) - now)
  }

  #take(name: ArmBucket, now: number): void {
    this.#bucket(name).take(now)
    if (this.#doubtful.has(name)) this.#doubtful.set(name, now + probeMs)
  }

  #passed({ buckets, heldBy, pass }: Waiter, waitedMs: number): void {
    const bucket = heldBy ?? buckets.at(-1)
    if (bucket !== undefined) this.#waited(bucket, waitedMs / 1000)
    pass({ waitedMs, heldBy })
  }

  #expectedWait(buckets: readonly ArmBucket[]): { readonly ms: number; readonly bucket: ArmBucket } {
    const now = this.#now()
    const waits = buckets.map((bucket) => {
      let ahead = 0
      for (const waiter of this.#queue) if (waiter.buckets.includes(bucket)) ahead += 1
      return { bucket, ms: this.#waitMs(bucket, now, ahead) }
    })
    return waits.reduce((longest, wait) => (wait.ms > longest.ms ? wait : longest))
  }

  /** Rejects a request. Rejected ones come back one by one as well, when the waiting ones are through. */
  #sentAway(bucket: ArmBucket, waitMs: number): ArmBudgetExhausted {
    const now = this.#now()
    const before = this.#sentAwayUntil.get(bucket) ?? 0
    const until = Math.max(now + waitMs, before + 1000 / (this.#rates.get(bucket) ?? 1))
    this.#sentAwayUntil.set(bucket, until)
    return new ArmBudgetExhausted(bucket, until - now)
  }

  #bucket(name: ArmBucket): TokenBucket {
    const bucket = this.#buckets.get(name)
    if (bucket === undefined) throw new Error(`there is no ARM bucket "${name}"`)
    return bucket
  }
}

function reasonOf(signal: AbortSignal | undefined): Error {
  return signal?.reason instanceof Error ? signal.reason : new Error('the wait for an ARM budget was cancelled')
}
