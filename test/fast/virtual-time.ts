import { SimulatedProcess } from './simulated-process.ts'
import { type Cancel, VirtualClock } from './virtual-clock.ts'

type Callback = (...args: unknown[]) => void

/** Longest delay of a timer of Node. */
const longestMs = 2 ** 31 - 1

const nothing = () => {}

/** A timer as Node's own: it has an id, and may be referred to or not. It is of the process that runs when it is set. */
class VirtualTimer {
  readonly #clock: VirtualClock
  readonly #ms: number
  readonly #fire: () => void
  #process: SimulatedProcess | undefined
  #cancel: Cancel = nothing

  /** Node takes a time as it is where it can wait for it: all else is a millisecond. */
  constructor(clock: VirtualClock, ms: number, fire: (timer: VirtualTimer) => void) {
    this.#clock = clock
    this.#ms = ms >= 1 && ms <= longestMs ? ms : 1
    this.#fire = () => fire(this)
    this.refresh()
  }

  refresh(): this {
    this.close()
    const process = SimulatedProcess.current
    if (process?.isKilled === true) return this
    this.#process = process
    process?.timers.add(this)
    this.#cancel = this.#clock.at(this.#clock.now() + this.#ms, () => this.#isDue())
    return this
  }

  #isDue(): void {
    this.#process?.timers.delete(this)
    if (this.#process === undefined) this.#fire()
    else this.#process.deliver(this.#fire)
  }

  close(): this {
    this.#process?.timers.delete(this)
    this.#cancel()
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/** What ends with which signal. One listener for all that end with one: a signal looks through its listeners at each that is added. */
class Followers {
  #of = new WeakMap<AbortSignal, AbortController[]>()

  /** As `AbortSignal.any`. Node keeps those of its own that are listened to until they fire, and with them the whole of a process that was killed. */
  firstOf(signals: Iterable<AbortSignal>): AbortSignal {
    const controller = new AbortController()
    for (const signal of signals)
      if (signal.aborted) controller.abort(signal.reason)
      else this.#following(signal).push(controller)
    return controller.signal
  }

  #following(signal: AbortSignal): AbortController[] {
    const known = this.#of.get(signal)
    if (known !== undefined) return known
    const own: AbortController[] = []
    this.#of.set(signal, own)
    const abort = () => {
      for (const follower of this.#of.get(signal) ?? []) follower.abort(signal.reason)
    }
    signal.addEventListener('abort', abort, { once: true })
    return own
  }

  /** Nothing ends with any signal from now on. A signal that never fires, and lives as long as the real process, would keep all that ends with it. */
  forget(): void {
    this.#of = new WeakMap()
  }
}

/**
 * Replaces the clock and the timers of this process with virtual ones until it is disposed of. A timer belongs to the simulated process that asks for
 * it, and fires in it; dates are those of its machine's clock.
 */
export class VirtualTime implements Disposable {
  readonly clock: VirtualClock
  readonly #followers = new Followers()
  readonly #replaced: [object: object, name: string, descriptor: PropertyDescriptor][] = []

  constructor(nowMs: number) {
    const clock = new VirtualClock(nowMs)
    this.clock = clock
    const RealDate = Date
    const startMs = nowMs
    const wallMs = () => clock.now() + (SimulatedProcess.current?.skewMs ?? 0)
    class VirtualDate extends RealDate {
      constructor(...args: []) {
        if (args.length === 0) super(wallMs())
        else super(...args)
      }

      static override now(): number {
        return wallMs()
      }
    }
    // The SDK carries dates into its context by the name of their class.
    Object.defineProperty(VirtualDate, 'name', { value: 'Date' })
    this.#replace(globalThis, 'Date', VirtualDate)
    this.#replace(globalThis, 'setTimeout', (what: Callback, ms = 0, ...args: unknown[]) =>
      this.#timeout(what, ms, args),
    )
    this.#replace(globalThis, 'setInterval', (what: Callback, ms = 0, ...args: unknown[]) =>
      this.#interval(what, ms, args),
    )
    const clear = (timer: unknown) => {
      if (timer instanceof VirtualTimer) timer.close()
    }
    this.#replace(globalThis, 'clearTimeout', clear)
    this.#replace(globalThis, 'clearInterval', clear)
    this.#replace(performance, 'now', () => clock.now() - startMs)
    this.#replace(AbortSignal, 'any', (signals: Iterable<AbortSignal>) => this.#followers.firstOf(signals))
    this.#replace(AbortSignal, 'timeout', (ms: number) => {
      const controller = new AbortController()
      this.#timeout(
        () => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
        ms,
        [],
      )
      return controller.signal
    })
  }

  [Symbol.dispose](): void {
    // What was loaded meanwhile may have kept the `Date` of this world for good, and with it this clock.
    this.clock.forget()
    this.#followers.forget()
    for (const [object, name, descriptor] of this.#replaced.splice(0).toReversed())
      Object.defineProperty(object, name, descriptor)
  }

  #replace(object: object, name: string, value: unknown): void {
    const before = Object.getOwnPropertyDescriptor(object, name)
    this.#replaced.push([
      object,
      name,
      before ?? { value: Reflect.get(object, name), configurable: true, writable: true },
    ])
    Object.defineProperty(object, name, { value, configurable: true, writable: true })
  }

  #timeout(what: Callback, ms: number, args: readonly unknown[]): VirtualTimer {
    return new VirtualTimer(this.clock, ms, () => what(...args))
  }

  #interval(what: Callback, ms: number, args: readonly unknown[]): VirtualTimer {
    return new VirtualTimer(this.clock, ms, (timer) => {
      timer.refresh()
      what(...args)
    })
  }
}
