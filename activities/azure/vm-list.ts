import type { VirtualMachine } from '@azure/arm-compute'
import type { Logger } from 'pino'

/** VMs by name; `undefined` for a name: no such VM in the last list. */
export type VmSnapshot = ReadonlyMap<string, VirtualMachine>

export interface VmListPace {
  /** Pause between two lists after something changed. */
  readonly fastestMs: number
  /** Pause while nothing happens. */
  readonly slowestMs: number
}

const defaultPace: VmListPace = { fastestMs: 500, slowestMs: 5000 }

interface Waiter {
  readonly look: (snapshot: VmSnapshot) => boolean
  readonly fail: (error: unknown) => void
}

/**
 * One list of the resource group's VMs per poll interval, shared by everybody who waits for a VM, so that ARM reads do not grow with the
 * number of launches (design: workflows). It lists only while somebody waits, faster after changes and slower while nothing happens.
 */
export class VmList {
  readonly #list: () => AsyncIterable<VirtualMachine>
  readonly #log: Logger
  readonly #waiters = new Set<Waiter>()
  readonly #pace: VmListPace
  #polling = false
  #intervalMs: number
  #wake: (() => void) | undefined

  constructor(list: () => AsyncIterable<VirtualMachine>, log: Logger, pace: VmListPace = defaultPace) {
    this.#list = list
    this.#log = log
    this.#pace = pace
    this.#intervalMs = pace.fastestMs
  }

  /** Waits until `observe` returns something about the list. Every look uses a list that was begun after the wait. */
  waitFor<T>(observe: (snapshot: VmSnapshot) => T | undefined, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#waiters.delete(waiter)
        signal.removeEventListener('abort', cancelled)
      }
      const waiter: Waiter = {
        look: (snapshot) => {
          try {
            const value = observe(snapshot)
            if (value === undefined) return false
            end()
            resolve(value)
          } catch (error) {
            waiter.fail(error)
          }
          return true
        },
        fail: (error) => {
          end()
          reject(error)
        },
      }
      const cancelled = () =>
        waiter.fail(signal.reason instanceof Error ? signal.reason : new Error('the wait was cancelled'))
      if (signal.aborted) return cancelled()
      signal.addEventListener('abort', cancelled, { once: true })
      this.#waiters.add(waiter)
      this.#intervalMs = this.#pace.fastestMs
      this.#wake?.()
      if (!this.#polling) void this.#poll()
    })
  }

  async #poll(): Promise<void> {
    this.#polling = true
    try {
      while (this.#waiters.size > 0) {
        const asked = [...this.#waiters]
        try {
          const snapshot = new Map<string, VirtualMachine>()
          for await (const vm of this.#list()) if (vm.name !== undefined) snapshot.set(vm.name, vm)
          const answered = asked.filter((waiter) => this.#waiters.has(waiter) && waiter.look(snapshot)).length
          this.#intervalMs =
            answered > 0 ? this.#pace.fastestMs : Math.min(this.#pace.slowestMs, this.#intervalMs * 1.3)
        } catch (error) {
          this.#log.warn({ err: error }, 'the list of VMs could not be read; trying again')
          this.#intervalMs = this.#pace.slowestMs
        }
        if (this.#waiters.size > 0) await this.#pause()
      }
    } finally {
      this.#polling = false
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
      const timer = setTimeout(done, this.#intervalMs)
      // A new waiter should not sit out a long interval, yet a burst of them must not list without pause.
      this.#wake = this.#intervalMs > this.#pace.fastestMs ? done : undefined
    })
  }
}
