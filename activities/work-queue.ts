import type { WorkQueueMetrics } from './telemetry/work-queue-metrics.ts'

export interface WorkQueueOptions {
  /** How many keys are worked on at once. */
  readonly concurrency: number
  /** The least time between two runs of one key, in milliseconds: a storm of events becomes one poke. */
  readonly spacingMs: number
  /** The longest wait before a failed key is tried again, in milliseconds. */
  readonly maxBackoffMs: number
  /** How long an error itself has its key wait, in milliseconds. */
  readonly waitMs?: (error: unknown) => number
  readonly onError: (key: string, error: unknown, attempt: number) => void
  readonly metrics?: WorkQueueMetrics
}

/** What is urgent comes first; routine work leaves a quarter of the places free for it. */
export type Lane = 'urgent' | 'routine'

interface Entry {
  dirty: boolean
  running: boolean
  attempt: number
  /** Milliseconds of `performance.now`: a clock that is set back must not hold it up. */
  notBefore: number
  lane: Lane
  timer?: NodeJS.Timeout
}

const routineShare = 0.75

/**
 * Runs work by key: a key added while it waits is not added twice, one added while it runs runs once more,
 * one that failed is retried with growing delay. Memory is bounded by the number of distinct keys.
 */
export class WorkQueue {
  readonly #entries = new Map<string, Entry>()
  readonly #work: (key: string) => Promise<void>
  readonly #options: WorkQueueOptions
  #running = 0
  #routineRunning = 0
  #waiting: Record<Lane, string[]> = { urgent: [], routine: [] }
  #stopped = false

  constructor(work: (key: string) => Promise<void>, options: WorkQueueOptions) {
    this.#work = work
    this.#options = options
  }

  /** Adds a key. One that waits among the routine work and is urgent now changes the lane. */
  add(key: string, lane: Lane = 'urgent'): void {
    if (this.#stopped) return
    const entry = this.#entries.get(key) ?? { dirty: false, running: false, attempt: 0, notBefore: 0, lane }
    this.#entries.set(key, entry)
    const isPromoted = entry.dirty && entry.lane === 'routine' && lane === 'urgent'
    if (entry.dirty && !isPromoted) return
    if (!entry.dirty) this.#options.metrics?.added(key)
    entry.lane = lane
    entry.dirty = true
    if (!entry.running) this.#schedule(key, entry)
  }

  /** Keys whose last run failed or that have not run yet. */
  get pending(): number {
    return this.#entries.size
  }

  stop(): void {
    this.#stopped = true
    for (const entry of this.#entries.values()) clearTimeout(entry.timer)
    this.#entries.clear()
    this.#options.metrics?.stopped()
    this.#waiting = { urgent: [], routine: [] }
  }

  #schedule(key: string, entry: Entry): void {
    clearTimeout(entry.timer)
    const delayMs = entry.notBefore - performance.now()
    if (delayMs <= 0) this.#enqueue(key)
    else entry.timer = setTimeout(() => this.#enqueue(key), delayMs)
  }

  #enqueue(key: string): void {
    this.#waiting[this.#entries.get(key)?.lane ?? 'routine'].push(key)
    this.#pump()
  }

  #pump(): void {
    while (this.#running < this.#options.concurrency) {
      const mayRunRoutine = this.#routineRunning < Math.ceil(this.#options.concurrency * routineShare)
      const key = this.#waiting.urgent.shift() ?? (mayRunRoutine ? this.#waiting.routine.shift() : undefined)
      if (key === undefined) return
      const entry = this.#entries.get(key)
      // A key that changed the lane stands in both; its second turn finds it done.
      if (entry?.dirty === true && !entry.running) void this.#run(key, entry)
    }
  }

  async #run(key: string, entry: Entry): Promise<void> {
    const { lane } = entry
    entry.dirty = false
    entry.running = true
    this.#options.metrics?.began(key)
    this.#running += 1
    if (lane === 'routine') this.#routineRunning += 1
    try {
      await this.#work(key)
      entry.attempt = 0
      entry.notBefore = performance.now() + this.#options.spacingMs
    } catch (error) {
      entry.attempt += 1
      const backoffMs = Math.min(this.#options.maxBackoffMs, 200 * 2 ** Math.min(entry.attempt, 16))
      entry.notBefore = performance.now() + Math.max(backoffMs, this.#options.waitMs?.(error) ?? 0)
      entry.dirty = true
      this.#options.metrics?.retried(key)
      this.#options.onError(key, error, entry.attempt)
    } finally {
      this.#running -= 1
      if (lane === 'routine') this.#routineRunning -= 1
      entry.running = false
      this.#options.metrics?.ended(key)
      if (this.#entries.get(key) === entry) {
        if (entry.dirty) this.#schedule(key, entry)
        else this.#forgetLater(key, entry)
      }
      this.#pump()
    }
  }

  /** The entry stays for the spacing time, so that the next event of a storm is held back too. */
  #forgetLater(key: string, entry: Entry): void {
    entry.timer = setTimeout(() => {
      if (!entry.dirty && !entry.running) this.#entries.delete(key)
    }, this.#options.spacingMs)
    entry.timer.unref()
  }
}
