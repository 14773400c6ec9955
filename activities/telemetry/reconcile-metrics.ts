import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { durationBuckets } from './buckets.ts'
import { controllerOf, isWaiting } from './controllers.ts'

/** Results of a reconcile, as controller-runtime names them. */
const results = ['success', 'error', 'requeue', 'requeue_after'] as const

/** An activity that is about to run. */
interface Reconcile {
  readonly activity: string
  /** How many activities its worker runs at once. */
  readonly slots: number
  /** Returns whether the activity was called off, which is no error. */
  readonly isCancelled: () => boolean
}

/**
 * Counts activities as controller-runtime counts reconciles, so that boards of Karpenter's controllers have data: an attempt of an activity is a
 * reconcile of the controller that does its work upstream. Activities that wait are counted, but their duration is not measured.
 */
export class ReconcileMetrics {
  readonly #all: ReturnType<typeof create>
  readonly #known = new Set<string>()

  constructor(registry: Registry) {
    this.#all = create(registry)
  }

  /** Runs an attempt of an activity, and counts it. Errors: those of `work`. */
  async measure<T>({ activity, slots, isCancelled }: Reconcile, work: () => Promise<T>): Promise<T> {
    const controller = controllerOf(activity) ?? activity
    this.#introduce(controller, slots)
    const { total, errors, seconds, active } = this.#all
    const end = seconds.startTimer({ controller })
    active.inc({ controller })
    try {
      const result = await work()
      total.inc({ controller, result: 'success' })
      return result
    } catch (error) {
      total.inc({ controller, result: isCancelled() ? 'requeue' : 'error' })
      if (!isCancelled()) errors.inc({ controller })
      throw error
    } finally {
      active.dec({ controller })
      if (!isWaiting(activity)) end()
    }
  }

  /** Sets the counters of a controller to zero before its first result, so that the first error is an increase. */
  #introduce(controller: string, slots: number): void {
    if (this.#known.has(controller)) return
    this.#known.add(controller)
    const { total, errors, most } = this.#all
    for (const result of results) total.inc({ controller, result }, 0)
    errors.inc({ controller }, 0)
    most.set({ controller }, slots)
  }
}

function create(registry: Registry) {
  const registers = [registry]
  return {
    total: new Counter({
      name: 'controller_runtime_reconcile_total',
      help: 'Attempts of activities by result, named after the controllers of Karpenter; requeue: called off.',
      labelNames: ['controller', 'result'] as const,
      registers,
    }),
    errors: new Counter({
      name: 'controller_runtime_reconcile_errors_total',
      help: 'Attempts of activities that failed.',
      labelNames: ['controller'] as const,
      registers,
    }),
    seconds: new Histogram({
      name: 'controller_runtime_reconcile_time_seconds',
      help: 'Duration of attempts of activities that do not wait by design.',
      labelNames: ['controller'] as const,
      buckets: durationBuckets,
      registers,
    }),
    active: new Gauge({
      name: 'controller_runtime_active_workers',
      help: 'Activities that run, those that wait included.',
      labelNames: ['controller'] as const,
      registers,
    }),
    most: new Gauge({
      name: 'controller_runtime_max_concurrent_reconciles',
      help: 'Activities that the worker of a controller runs at once; several controllers share a worker.',
      labelNames: ['controller'] as const,
      registers,
    }),
  }
}
