/** Takes back what was asked of a clock. Harmless once it has happened. */
export type Cancel = () => void

/** The time that a simulated Temporal server runs on. */
export interface Clock {
  /** Epoch ms. */
  now(): number
  /** Calls `what` at a moment, at once when it has passed. Moments are whole milliseconds: Temporal's times are whole nanoseconds. */
  at(epochMs: number, what: () => void): Cancel
}

/** Time that only passes by `step`. What is due at the same moment happens in the order in which it was asked for. */
export class VirtualClock implements Clock {
  #nowMs: number
  /** What is due, by its moment. */
  readonly #due = new Map<number, Set<{ readonly what: () => void }>>()
  #happened = 0
  /** The moments in `#due`, latest first. */
  readonly #moments: number[] = []

  constructor(nowMs: number) {
    this.#nowMs = nowMs
  }

  /** How much of what was due has happened. */
  get happened(): number {
    return this.#happened
  }

  now(): number {
    return this.#nowMs
  }

  at(epochMs: number, what: () => void): Cancel {
    const ms = Math.max(Math.ceil(epochMs), this.#nowMs)
    const together = this.#due.get(ms) ?? this.#newMoment(ms)
    const one = { what }
    together.add(one)
    return () => {
      together.delete(one)
    }
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.at(this.#nowMs + ms, resolve)
    })
  }

  /** Passes to what is due next, at most to a moment. Returns false when nothing is due by then. */
  step(untilMs = Number.POSITIVE_INFINITY): boolean {
    for (let ms = this.#moments.at(-1); ms !== undefined && ms <= untilMs; ms = this.#moments.at(-1)) {
      const together = this.#due.get(ms)
      const [next] = together ?? []
      if (next === undefined) {
        this.#due.delete(ms)
        this.#moments.pop()
        continue
      }
      together?.delete(next)
      this.#nowMs = ms
      this.#happened += 1
      next.what()
      return true
    }
    return false
  }

  /** Nothing of what is due happens any more. */
  forget(): void {
    this.#due.clear()
    this.#moments.length = 0
  }

  #newMoment(ms: number): Set<{ readonly what: () => void }> {
    const together = new Set<{ readonly what: () => void }>()
    this.#due.set(ms, together)
    let [low, high] = [0, this.#moments.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#moments[middle] ?? 0) > ms) low = middle + 1
      else high = middle
    }
    this.#moments.splice(low, 0, ms)
    return together
  }
}

const realImmediate = setImmediate

/** Resolves when promises have come to rest, without time passing. */
export const nextTurn = () => new Promise<void>(realImmediate)

/** Lets promises and immediates come to rest, without time passing. */
export async function settle(turns = 2): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await nextTurn()
}

/** Lets virtual time pass until something holds. Errors: it did not within `atMostMs`, or nothing is due any more. */
export async function passUntil(clock: VirtualClock, what: string, holds: () => unknown, atMostMs = 86_400_000) {
  const endMs = clock.now() + atMostMs
  for (;;) {
    await nextTurn()
    if (holds()) return
    if (!clock.step(endMs)) throw new Error(`not within ${atMostMs} ms of virtual time: ${what}`)
  }
}

/** Lets virtual time pass until a promise settles. */
export async function settled<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  work.then(over, over)
  await passUntil(clock, 'an answer', () => isOver)
  return work
}

/** Deterministic random numbers in [0, 1). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}
