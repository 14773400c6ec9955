import type { Cancel, Clock } from '../virtual-clock.ts'

/** The clock of a server that may be away: what is due while it is happens when it is back. */
export class ServerClock implements Clock {
  readonly #clock: Clock
  /** What happens when the server is back; undefined: it is there. */
  #held: Set<() => void> | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isAway(): boolean {
    return this.#held !== undefined
  }

  now(): number {
    return this.#clock.now()
  }

  at(epochMs: number, what: () => void): Cancel {
    const due = () => what()
    const cancel = this.#clock.at(epochMs, () => this.whenThere(due))
    return () => {
      cancel()
      this.#held?.delete(due)
    }
  }

  /** Does what somebody keeps asking the server for: now, or when it is back. */
  whenThere(what: () => void): void {
    if (this.#held === undefined) what()
    else this.#held.add(what)
  }

  /** The server is killed, and is back after a while. Errors: it is away already. */
  leave(ms: number, back: () => void): void {
    if (this.#held !== undefined) throw new Error('the server is away already')
    const held = new Set<() => void>()
    this.#held = held
    this.#clock.at(this.#clock.now() + ms, () => {
      this.#held = undefined
      for (const what of held) what()
      back()
    })
  }
}
