/** Lets so many through a second on average, and `burst` at once. */
export class TokenBucket {
  readonly #perSecond: number
  readonly #burst: number
  #tokens: number
  #at: number

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

  /** In how many milliseconds the next one may pass. */
  waitMs(now: number): number {
    this.#refill(now)
    return this.#tokens >= 1 ? 0 : Math.ceil(((1 - this.#tokens) / this.#perSecond) * 1000)
  }

  /** A clock that was set back gives nothing and takes nothing. */
  #refill(now: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + (Math.max(0, now - this.#at) / 1000) * this.#perSecond)
    this.#at = now
  }
}
