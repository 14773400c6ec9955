// Runs specs, some at a time, each in a cluster that is clean.
import { listens, type Result, type Spec, waits } from './specs.ts'

/** A cluster, as a run needs it. */
export interface Place {
  run(spec: Spec, interrupted: AbortSignal): Promise<Result>
  close(): Promise<void>
}

export interface Run {
  readonly specs: readonly Spec[]
  /** How many specs may run at a time that do not mostly wait. */
  readonly atOnce: number
  readonly start: () => Promise<Place>
  readonly onResult: (result: Result) => void
  readonly interrupted: AbortSignal
}

/**
 * Runs specs in the order in which they are given, on as many clusters as may work at once, and on one more for specs that mostly wait: these need no
 * core. A cluster in which a spec has failed goes, since what it has left would fail the next one. Errors: a cluster did not start, or did not end, and
 * the run was not interrupted: that also ends what a start waits for.
 */
export async function runSpecs({ specs, atOnce, start, onResult, ...run }: Run): Promise<void> {
  const queue = new Queue(specs, atOnce)
  const broken = new AbortController()
  const interrupted = AbortSignal.any([run.interrupted, broken.signal])
  const lane = async () => {
    let place: Place | undefined
    try {
      for (let spec = queue.take(); spec !== undefined && !interrupted.aborted; spec = queue.take()) {
        place ??= await start()
        const result = interrupted.aborted ? undefined : await place.run(spec, interrupted)
        queue.done(spec)
        if (result === undefined || interrupted.aborted) return
        onResult(result)
        if (result.outcome !== 'failed') continue
        const dirty = place
        place = undefined
        await dirty.close()
      }
    } catch (error) {
      broken.abort()
      throw error
    } finally {
      await place?.close()
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: Math.min(atOnce + 1, specs.length) }, lane))
  if (run.interrupted.aborted) return
  for (const one of ended) if (one.status === 'rejected') throw one.reason
}

/**
 * Which spec comes next: while fewer work than may, the first of those that work, but one that waits always runs beside them. Of specs that listen at
 * the same port one runs at a time.
 */
class Queue {
  readonly #left: Spec[]
  readonly #atOnce: number
  readonly #running = new Set<Spec>()

  constructor(specs: readonly Spec[], atOnce: number) {
    this.#left = [...specs]
    this.#atOnce = atOnce
  }

  /** Undefined: nothing is left that may begin now. */
  take(): Spec | undefined {
    const running = [...this.#running]
    const waiting = running.filter(waits).length
    const mayWork = running.length - waiting < this.#atOnce
    const wanted = waiting === 0 || !mayWork ? waits : (spec: Spec) => !waits(spec)
    const free = this.#left.filter((spec) => !listens(spec) || !running.some(listens))
    const spec = free.find(wanted) ?? (mayWork ? free[0] : undefined)
    if (spec === undefined) return undefined
    this.#left.splice(this.#left.indexOf(spec), 1)
    this.#running.add(spec)
    return spec
  }

  done(spec: Spec): void {
    this.#running.delete(spec)
  }
}
