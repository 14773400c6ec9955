import type { Worker } from '@temporalio/worker'
import { pauseOf } from '../activities/abortable-wait.ts'
import { type HeldInput, whileHeld } from '../activities/kubernetes/while-held.ts'
import { runWorkers } from './running-workers.ts'

export interface LeadingInput extends HeldInput {
  /** Works for as long as this process leads, with Temporal or without: until the signal fires. */
  readonly work: (signal: AbortSignal) => Promise<void>
  readonly makeWorker: () => Promise<Worker>
  /** Called with the worker of the process that leads, and with undefined once it has ended. */
  readonly onWorker: (worker: Worker | undefined) => void
}

/**
 * Works and runs a worker while this process holds the Lease, and stands by with warm caches while another does: what it has in memory (nominations,
 * back-offs, the last evaluation) is in one process. Returns when the signal fires. Errors: as `runWorkers`.
 */
export function workWhileLeading({ work, makeWorker, onWorker, ...held }: LeadingInput): Promise<void> {
  return whileHeld(held, async (ends, end) => {
    const working = work(ends)
    try {
      let worker: Worker | undefined
      for (let failures = 0; worker === undefined && !ends.aborted; failures++) {
        worker = await makeWorker().catch((error: unknown) => {
          // The connection says by itself why Temporal cannot be used.
          held.log[failures === 0 ? 'warn' : 'debug']({ err: error }, 'failed to make the worker of a leader, retrying')
          return pauseOf(2000, ends).then(() => undefined)
        })
      }
      if (worker === undefined) return
      onWorker(worker)
      await runWorkers([worker], ends)
    } finally {
      end()
      onWorker(undefined)
      await working
    }
  })
}
