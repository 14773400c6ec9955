const shortestMs = 10_000

interface Failures {
  readonly count: number
  readonly untilMs: number
}

/** Backs off what failed: for 10 s, twice as long after each failure in a row, for 5 minutes at most by default. Times are epoch ms. */
export class BackOff {
  readonly #failures = new Map<string, Failures>()
  readonly #longestMs: number

  constructor(longestMs = 5 * 60_000) {
    this.#longestMs = longestMs
  }

  /** Failures at the same time, such as those of all nodes of one command, count once. */
  failed(key: string, now: number): void {
    const before = this.#failures.get(key)
    if (this.isResting(key, now)) return
    // A failure long ago is not in a row with this one.
    const count = before === undefined || now - before.untilMs > this.#longestMs ? 0 : before.count
    const restMs = Math.min(shortestMs * 2 ** count, this.#longestMs)
    this.#failures.set(key, { count: count + 1, untilMs: now + restMs })
    for (const [other, { untilMs }] of this.#failures) if (now - untilMs > this.#longestMs) this.#failures.delete(other)
  }

  succeeded(key: string): void {
    this.#failures.delete(key)
  }

  isResting(key: string, now: number): boolean {
    return this.#lasts(this.endOf(key), now)
  }

  /** Returns when a back-off ends or ended; 0 where there was none. */
  endOf(key: string): number {
    return this.#failures.get(key)?.untilMs ?? 0
  }

  /** Keys that are backed off now. */
  resting(now: number): readonly string[] {
    return [...this.#failures].filter(([, { untilMs }]) => this.#lasts(untilMs, now)).map(([key]) => key)
  }

  /** When the first of the back-offs ends. */
  nextEnd(now: number): number {
    const ends = [...this.#failures.values()].map(({ untilMs }) => untilMs).filter((at) => this.#lasts(at, now))
    return Math.min(Number.POSITIVE_INFINITY, ...ends)
  }

  /** One that ends later than any that begins now began before the clock was set back. */
  #lasts(untilMs: number, now: number): boolean {
    return untilMs > now && untilMs - now <= this.#longestMs
  }
}
