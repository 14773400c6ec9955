import { AsyncLocalStorage } from 'node:async_hooks'
import type { VirtualMachine } from '@azure/arm-compute'
import type { LateList } from '../answers/late-list.ts'
import { armLimits } from './arm-limits.ts'

type Snapshot<T> = ReadonlyMap<string, T>

export interface VmListPace {
  /** Pause between two lists after something changed. */
  readonly fastestMs: number
  /** Pause while nothing happens. */
  readonly slowestMs: number
  /** Most pages per second on average: each page is a request, so a group of many pages is listed less often. */
  readonly pagesPerSecond: number
}

/** Returns the pace within this process's part of Azure's limit on lists of VMs. Others need some of it as well (garbage collection). */
export function paceWithin(share: number): VmListPace {
  return { fastestMs: 500, slowestMs: 5000, pagesPerSecond: (armLimits.listVms.perSecond * share) / 2 }
}

/** Longest time of one list with all its pages and their waits for tokens. */
const passMs = 300_000

interface Waiter<T> {
  readonly look: (snapshot: Snapshot<T>) => boolean
  readonly fail: (error: unknown) => void
}

/**
 * One list of the resource group's VMs (or of a pool's AKS machines) per poll interval, shared by all waits for them. So ARM reads do not grow with the
 * number of launches (design: workflows). It lists only during waits, faster after changes and slower while nothing happens.
 */
export class VmList<T extends { readonly name?: string } = VirtualMachine> {
  readonly #list: () => AsyncIterable<readonly T[]>
  readonly #standing: LateList
  readonly #waiters = new Set<Waiter<T>>()
  readonly #pace: VmListPace
  #polling = false
  #intervalMs: number
  #shortestMs: number
  #wake: (() => void) | undefined

  /** Runs shared reads outside of the activity that happened to ask first: they go on when that activity ends. */
  readonly #forAll = AsyncLocalStorage.snapshot()

  /** `list` reads the group's VMs page by page; `standing` reports lists that are late. */
  constructor(list: () => AsyncIterable<readonly T[]>, standing: LateList, pace: VmListPace) {
    this.#list = list
    this.#standing = standing
    this.#pace = pace
    this.#intervalMs = pace.fastestMs
    this.#shortestMs = pace.fastestMs
  }

  /** Waits until `observe` returns something about the list. It only gets lists that were begun after the wait. */
  waitFor<R>(observe: (snapshot: Snapshot<T>) => R | undefined, signal: AbortSignal): Promise<R> {
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#waiters.delete(waiter)
        signal.removeEventListener('abort', cancelled)
      }
      const waiter: Waiter<T> = {
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
      if (!this.#polling) void this.#forAll(() => this.#poll())
    })
  }

  async #poll(): Promise<void> {
    this.#polling = true
    try {
      while (this.#waiters.size > 0) {
        const asked = [...this.#waiters]
        this.#standing.needed()
        try {
          const snapshot = await this.#read()
          this.#standing.settled()
          const answered = asked.filter((waiter) => this.#waiters.has(waiter) && waiter.look(snapshot)).length
          this.#intervalMs =
            answered > 0 ? this.#pace.fastestMs : Math.min(this.#pace.slowestMs, this.#intervalMs * 1.3)
        } catch (error) {
          this.#standing.failed(error)
          this.#intervalMs = this.#pace.slowestMs
        }
        // Also without waits: the next one must not list sooner than the interval allows.
        await this.#pause()
      }
    } finally {
      this.#polling = false
      this.#standing.settled()
    }
  }

  async #read(): Promise<Snapshot<T>> {
    const snapshot = new Map<string, T>()
    let pages = 0
    for await (const page of within(passMs, this.#list())) {
      pages += 1
      for (const vm of page) if (vm.name !== undefined) snapshot.set(vm.name, vm)
    }
    this.#shortestMs = Math.max(this.#pace.fastestMs, (pages / this.#pace.pagesPerSecond) * 1000)
    return snapshot
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
      const startedAt = performance.now()
      let timer = setTimeout(
        done,
        this.#waiters.size === 0 ? this.#shortestMs : Math.max(this.#intervalMs, this.#shortestMs),
      )
      // A new wait should not last for a long interval, yet a burst of them must not list without pause.
      this.#wake = () => {
        clearTimeout(timer)
        timer = setTimeout(done, Math.max(0, startedAt + this.#shortestMs - performance.now()))
      }
    })
  }
}

/** Passes on the pages of a list. Errors: it takes longer than `ms` altogether; then it is left to itself. */
async function* within<T>(ms: number, pages: AsyncIterable<T>): AsyncGenerator<T> {
  const late = Promise.withResolvers<never>()
  late.promise.catch(() => {})
  const timer = setTimeout(() => late.reject(new Error(`the list did not end in ${ms / 1000} s`)), ms)
  try {
    const iterator = pages[Symbol.asyncIterator]()
    for (;;) {
      const page = await Promise.race([iterator.next(), late.promise])
      if (page.done === true) return
      yield page.value
    }
  } finally {
    clearTimeout(timer)
  }
}
