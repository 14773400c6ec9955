/** Lets so many through a second on average, and `burst` at once. Times are in milliseconds of any one clock. */
export class TokenBucket {
  readonly #perSecond: number
  readonly #burst: number
  #tokens: number
  #at: number
  #closedUntil = Number.NEGATIVE_INFINITY

  constructor({ perSecond, burst }: { readonly perSecond: number; readonly burst: number }, now: number) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#tokens = burst
    this.#at = now
  }

  /** Whether one more may pass now. */
  take(now: number): boolean {
    this.#refill(now)
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }

  /** In how many milliseconds the next one may pass, or the one after `ahead` others. */
  waitMs(now: number, ahead = 0): number {
    this.#refill(now)
    const missing = ahead + 1 - this.#tokens
    return missing <= 0 ? 0 : Math.max(0, this.#closedUntil - now) + Math.ceil((missing / this.#perSecond) * 1000)
  }

  /** What it holds now. */
  level(now: number): number {
    this.#refill(now)
    return this.#tokens
  }

  /** It turns out to hold no more than so many. */
  lower(tokens: number, now: number): void {
    this.#refill(now)
    this.#tokens = Math.min(this.#tokens, Math.max(0, tokens))
  }

  /** One that passed did not need to. */
  giveBack(now: number): void {
    this.#refill(now)
    if (!this.isClosed(now)) this.#tokens = Math.min(this.#burst, this.#tokens + 1)
  }

  /** Whether the time of `close` is not over. */
  isClosed(now: number): boolean {
    return now < this.#closedUntil
  }

  /** It is empty, and is filled no sooner than from `untilMs` on: who waits then comes one by one. */
  close(untilMs: number, now: number): void {
    this.lower(0, now)
    this.#closedUntil = Math.max(this.#closedUntil, untilMs)
  }

  /** A clock that was set back gives nothing and takes nothing. */
  #refill(now: number): void {
    const since = Math.max(this.#at, this.#closedUntil)
    this.#tokens = Math.min(this.#burst, this.#tokens + (Math.max(0, now - since) / 1000) * this.#perSecond)
    this.#at = now
  }
}
