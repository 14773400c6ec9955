import { pauseOf } from './abortable-wait.ts'

/** How long a later piece of work waits for the end of the one before. */
const mostMs = 10_000

interface Running {
  readonly stop: AbortController
  readonly ended: Promise<unknown>
}

/**
 * Runs one piece of work at a time for each key: a later one cuts the one before short, and begins when that has ended. An attempt that Temporal has given
 * up, or that was cancelled, hears of it with its next heartbeat, which may be a minute later.
 */
export class LatestOnly {
  readonly #running = new Map<string, Running>()

  /** Errors: those of `work`. */
  async run<T>(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const before = this.#running.get(key)
    const stop = new AbortController()
    const both = AbortSignal.any([signal, stop.signal])
    const begin = async () => {
      if (before !== undefined) await Promise.race([before.ended, pauseOf(mostMs, both)])
      both.throwIfAborted()
      return work(both)
    }
    before?.stop.abort(new Error('a later attempt goes on with it'))
    const result = begin()
    this.#running.set(key, { stop, ended: result.catch(() => {}) })
    try {
      return await result
    } finally {
      if (this.#running.get(key)?.stop === stop) this.#running.delete(key)
    }
  }
}
