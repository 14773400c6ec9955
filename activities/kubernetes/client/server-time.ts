import type { Logger } from 'pino'
import {
  isClockWrong,
  type KnownTime,
  ntpCommands,
  offText,
  readingOf,
  withReading,
} from '../../../core/server-time.ts'

interface ServerTimeDeps {
  readonly log: Logger
  /** The own clock, epoch ms. Default: `Date.now`. */
  readonly own?: () => number
  /** A clock that never jumps, in milliseconds. Default: `performance.now`. */
  readonly monotonicMs?: () => number
}

/** Whether what this process's clock says may be acted on, and what the API server's says. */
export type OwnClock = Pick<ServerTime, 'isOwnWrong' | 'ofServer'>

/**
 * The API server's time, as the dates of its answers have it: no request is sent for it. It goes on by a clock that never jumps, so that a jump of the
 * own clock is noticed at once, and not with the next answers (docs/adr/0053-a-wrong-clock-ends-no-node.md).
 */
export class ServerTime {
  readonly #log: Logger
  readonly #own: () => number
  readonly #monotonicMs: () => number
  #known: KnownTime = {}
  #isOwnWrong = false

  constructor({ log, own = () => Date.now(), monotonicMs = () => performance.now() }: ServerTimeDeps) {
    this.#log = log
    this.#own = own
    this.#monotonicMs = monotonicMs
  }

  /** Takes the date of an answer just received. `sentMs`: when its request was sent, by the clock that never jumps. */
  answered(date: string | undefined, sentMs: number): void {
    const reading = readingOf(date, { sentMs, answeredMs: this.#monotonicMs() })
    if (reading === undefined) return
    this.#known = withReading(this.#known, reading)
    this.isOwnWrong()
  }

  /** By how many milliseconds the own clock is ahead of the API server's; negative: behind. Undefined: the API server's is not known. */
  get offMs(): number | undefined {
    const { believed } = this.#known
    return believed && this.#own() - believed.offsetMs - this.#monotonicMs()
  }

  /** Whether the own clock is more than a minute from the API server's. While it is, no node expires and none is repaired. */
  isOwnWrong(): boolean {
    const { offMs } = this
    const { uncertaintyMs } = this.#known.believed ?? {}
    if (offMs === undefined || uncertaintyMs === undefined) return false
    const isWrong = isClockWrong({ offMs, uncertaintyMs }, this.#isOwnWrong)
    if (isWrong !== this.#isOwnWrong) this.#report(isWrong, offMs)
    this.#isOwnWrong = isWrong
    return isWrong
  }

  /** Epoch ms by the own clock, and by the API server's while the own one is wrong. */
  now(): number {
    return this.isOwnWrong() ? this.ofServer() : this.#own()
  }

  /** Epoch ms by the API server's clock; by the own one where that is not known. */
  ofServer(): number {
    const { believed } = this.#known
    return believed === undefined ? this.#own() : Math.round(believed.offsetMs + this.#monotonicMs())
  }

  #report(isWrong: boolean, offMs: number): void {
    const seconds = Math.round(offMs / 1000)
    if (!isWrong) return this.#log.info({ seconds }, "the clock of this machine agrees with the API server's again")
    this.#log.error(
      { seconds },
      `the clock of this machine is ${offText(offMs)}, whose time is used. By it no node expires and none is repaired; set it by NTP: ${ntpCommands}`,
    )
  }
}
