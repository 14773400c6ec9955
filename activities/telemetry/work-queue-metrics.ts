import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { durationBuckets } from './buckets.ts'

/** Metrics of a work queue by key, with the names that Kubernetes' controllers give them. Times are in seconds. */
export class WorkQueueMetrics {
  readonly #of: { readonly name: string; readonly controller: string }
  readonly #now: () => number
  /** Since when keys wait, and are worked on, in epoch ms. */
  readonly #queued = new Map<string, number>()
  readonly #running = new Map<string, number>()
  readonly #all: ReturnType<WorkQueueMetrics['create']>

  /** `name` distinguishes queues; `now` is in epoch ms. */
  constructor(name: string, now: () => number, registry: Registry) {
    this.#of = { name, controller: name }
    this.#now = now
    this.#all = this.create([registry])
    this.#all.adds.inc(this.#of, 0)
    this.#all.retries.inc(this.#of, 0)
  }

  added(key: string): void {
    this.#all.adds.inc(this.#of)
    if (!this.#queued.has(key)) this.#queued.set(key, this.#now())
  }

  began(key: string): void {
    const since = this.#queued.get(key)
    this.#queued.delete(key)
    if (since !== undefined) this.#all.waited.observe(this.#of, this.#secondsSince(since))
    this.#running.set(key, this.#now())
  }

  /** Records that work on a key ended, whether it failed or not. */
  ended(key: string): void {
    const since = this.#running.get(key)
    this.#running.delete(key)
    if (since !== undefined) this.#all.worked.observe(this.#of, this.#secondsSince(since))
  }

  /** Records a key that failed and will be tried again. */
  retried(key: string): void {
    this.#all.retries.inc(this.#of)
    this.added(key)
  }

  /** Forgets what waits: the queue has stopped. */
  stopped(): void {
    this.#queued.clear()
  }

  #secondsSince(ms: number): number {
    return Math.max(0, (this.#now() - ms) / 1000)
  }

  private create(registers: Registry[]) {
    const labelNames = ['name', 'controller'] as const
    const gauge = (name: string, help: string, value: () => number) => {
      const own = this.#of
      return new Gauge({
        name: `workqueue_${name}`,
        help,
        labelNames,
        registers,
        collect() {
          this.set(own, value())
        },
      })
    }
    const running = () => [...this.#running.values()].map((since) => this.#secondsSince(since))
    const counter = (name: string, help: string) =>
      new Counter({ name: `workqueue_${name}`, help, labelNames, registers })
    const histogram = (name: string, help: string) =>
      new Histogram({ name: `workqueue_${name}`, help, labelNames, buckets: durationBuckets, registers })
    gauge('depth', 'Keys that wait in a work queue.', () => this.#queued.size)
    gauge('unfinished_work_seconds', 'Time for which keys have been worked on, all together.', () =>
      running().reduce((sum, seconds) => sum + seconds, 0),
    )
    gauge('longest_running_processor_seconds', 'Time for which the oldest key has been worked on.', () =>
      Math.max(0, ...running()),
    )
    return {
      adds: counter('adds_total', 'Keys that were added to a work queue.'),
      retries: counter('retries_total', 'Keys that failed and were added again.'),
      waited: histogram('queue_duration_seconds', 'Time for which a key waited in a work queue.'),
      worked: histogram('work_duration_seconds', 'Time for which a key was worked on.'),
    }
  }
}
