import { TransportError, type Worker } from '@temporalio/worker'
import type { Logger } from 'pino'
import type { TemporalLink } from './temporal-link.ts'

export interface RunningInput {
  readonly create: () => Promise<readonly Worker[]>
  readonly link: TemporalLink
  readonly log: Logger
  readonly signal: AbortSignal
  /** Called each time when workers have been made. */
  readonly onRunning: () => void
}

/**
 * Runs the workers until the signal fires. Workers end by themselves when Temporal refuses their caller, as it does with a key that has expired: they
 * are made again once it can be used. Errors: a worker that failed for another reason.
 */
export async function runWorkers({ create, link, log, signal, onRunning }: RunningInput): Promise<void> {
  while (!signal.aborted) {
    const workers = await create()
    link.serve(workers)
    onRunning()
    try {
      await untilEnded(workers, signal)
      return
    } catch (error) {
      if (!(error instanceof TransportError)) throw error
      log.warn({ err: error }, 'workers ended because Temporal refused them; they are made again once it can be used')
      await link.untilUsable()
    }
  }
}

/** One that fails takes the others with it. Errors: the first failure. */
async function untilEnded(workers: readonly Worker[], signal: AbortSignal): Promise<void> {
  const stop = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  signal.addEventListener('abort', stop, { once: true })
  const runs = workers.map((worker) => worker.run())
  if (signal.aborted) stop()
  try {
    await Promise.all(runs)
  } finally {
    stop()
    signal.removeEventListener('abort', stop)
    await Promise.allSettled(runs)
  }
}
