import type { Logger } from 'pino'
import { pauseFor } from '../../activity-context.ts'
import type { CachedKind, CachedObject } from './cached-kinds.ts'

/** A change of the cached cluster. */
export interface ClusterChange {
  readonly kind: CachedKind
  readonly key: string
  /** Undefined when the object is new. */
  readonly before: CachedObject | undefined
  /** Undefined when the object is gone. */
  readonly after: CachedObject | undefined
}

/** Which changes matter to a wait. Called for every change of the cluster, so it must be cheap. */
export type ChangeFilter = (change: ClusterChange) => boolean

export type ChangeListener = (change: ClusterChange) => void

/** Passes changes on to listeners and waits. */
export class ChangeFeed {
  readonly #log: Logger
  readonly #listeners = new Set<ChangeListener>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** Calls the listener after each change. Returns the function that removes it. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Waits until `observe` returns a value, asking at once and after each change that `concerns` lets through.
   * Rejects when the signal fires. There are many waits, so `concerns` must be cheap.
   */
  waitFor<T>(concerns: ChangeFilter, observe: () => T | undefined, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const first = observe()
      if (first !== undefined) return resolve(first)
      const end = this.onChange((change) => {
        if (!concerns(change)) return
        const value = observe()
        if (value === undefined) return
        finish()
        resolve(value)
      })
      const cancelled = () => {
        finish()
        reject(signal.reason instanceof Error ? signal.reason : new Error('the wait was cancelled'))
      }
      const finish = () => {
        end()
        signal.removeEventListener('abort', cancelled)
      }
      if (signal.aborted) cancelled()
      else signal.addEventListener('abort', cancelled, { once: true })
    })
  }

  /** Waits for a change that `concerns` lets through, at most `ms`. Returns whether one came. Rejects when the signal fires. */
  async changeWithin(ms: number, concerns: ChangeFilter, signal: AbortSignal): Promise<boolean> {
    const over = new AbortController()
    const both = AbortSignal.any([signal, over.signal])
    let changed = false
    const change = this.waitFor(
      (about) => {
        changed ||= concerns(about)
        return changed
      },
      () => (changed ? true : undefined),
      both,
    )
    try {
      await Promise.race([change, pauseFor(ms, both)])
      return changed
    } finally {
      over.abort()
      await Promise.allSettled([change])
    }
  }

  protected notify(change: ClusterChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change)
      } catch (error) {
        this.#log.error({ kind: change.kind, object: change.key, err: error }, 'cluster cache listener failed')
      }
    }
  }
}
