/** Admits so many a second on average, and `burst` at once. Times are in milliseconds of any one clock. */
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

  /** Takes a token. Returns whether there was one. */
  take(now: number): boolean {
    this.#refill(now)
    if (this.#tokens < 1 || this.isClosed(now)) return false
    this.#tokens -= 1
    return true
  }

  /** Returns in how many milliseconds the next token is available, or the one after `ahead` others. */
  waitMs(now: number, ahead = 0): number {
    this.#refill(now)
    const missing = ahead + 1 - this.#tokens
    return Math.max(0, this.#closedUntil - now) + Math.ceil((Math.max(0, missing) / this.#perSecond) * 1000)
  }

  level(now: number): number {
    this.#refill(now)
    return this.isClosed(now) ? 0 : this.#tokens
  }

  lower(tokens: number, now: number): void {
    this.#refill(now)
    this.#tokens = Math.min(this.#tokens, Math.max(0, tokens))
  }

  /** Puts back a token that was not needed. */
  giveBack(now: number): void {
    this.#refill(now)
    if (!this.isClosed(now)) this.#tokens = Math.min(this.#burst, this.#tokens + 1)
  }

  /** Returns whether the time of `close` is not over. */
  isClosed(now: number): boolean {
    return now < this.#closedUntil
  }

  /** Empties the bucket until `untilMs`. Then it has one token and is refilled, so that waiting callers proceed one by one. */
  close(untilMs: number, now: number): void {
    this.#refill(now)
    this.#tokens = 1
    this.#closedUntil = Math.max(this.#closedUntil, untilMs)
  }

  /** Refills by the time that passed. A clock that was set back changes nothing. */
  #refill(now: number): void {
    const since = Math.max(this.#at, this.#closedUntil)
    this.#tokens = Math.min(this.#burst, this.#tokens + (Math.max(0, now - since) / 1000) * this.#perSecond)
    this.#at = now
  }
}
