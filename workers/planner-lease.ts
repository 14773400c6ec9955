import type { Worker } from '@temporalio/worker'
import type { Logger } from 'pino'
import { pauseOf } from '../activities/abortable-wait.ts'
import type { Lease } from '../activities/kubernetes/lease.ts'
import { runWorkers } from './running-workers.ts'

/** Duration of the Lease, and how long a request for it is waited for: several fit into the duration. */
export const plannerLease = { name: 'joiner-planner', durationSeconds: 10, requestMs: 2500 } as const
/** Time between two looks at the Lease, of a process that plans and of one that stands by. */
const renewMs = 2000
const standByMs = 500
const retryWorkerMs = 2000

export interface PlannerInput {
  readonly lease: Pick<Lease, 'tryHold' | 'release'>
  /** Works for as long as this process plans, with Temporal or without: until the signal fires. */
  readonly work: (signal: AbortSignal) => Promise<void>
  readonly makeWorker: () => Promise<Worker>
  /** Called with the worker that plans, and with undefined once it has ended. */
  readonly onWorker: (worker: Worker | undefined) => void
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Plans while this process holds the Lease `joiner-planner`, and stands by with warm caches while another does: what a planner has in memory
 * (nominations, back-offs, the last evaluation) is in one process. A planner that cannot reach the Lease goes on until it sees that another has it;
 * the fences keep the writes of two apart (ADR 3). Returns when the signal fires. Errors: as `runWorkers`.
 */
export async function planWhileLeading(input: PlannerInput): Promise<void> {
  const { log, signal } = input
  while (!signal.aborted) {
    if ((await isHeld(input)) !== true) {
      await pauseOf(standByMs, signal)
      continue
    }
    log.info('this process plans')
    await plan(input)
    if (!signal.aborted) log.info('another process plans, this one stands by')
  }
}

/** Works and runs the worker until the signal fires or another process has the Lease. */
async function plan({ lease, work, makeWorker, onWorker, log, signal }: PlannerInput): Promise<void> {
  const over = new AbortController()
  const ends = AbortSignal.any([signal, over.signal])
  const renew = async () => {
    await pauseOf(renewMs, ends)
    while (!ends.aborted) {
      if ((await isHeld({ lease, log })) === false) over.abort()
      else await pauseOf(renewMs, ends)
    }
    // At once, so that the next process need not wait until the last writes of this one are through.
    await lease
      .release()
      .catch((error: unknown) => log.debug({ err: error }, 'failed to release planner lease, it will expire'))
  }
  const renewing = renew()
  const working = work(ends)
  try {
    const worker = await untilMade(makeWorker, { log, signal: ends })
    if (worker === undefined) return
    onWorker(worker)
    await runWorkers([worker], ends)
  } finally {
    over.abort()
    onWorker(undefined)
    await Promise.all([working, renewing])
  }
}

/** Makes the worker, which Temporal has to answer for. Undefined: the signal fired. */
async function untilMade(
  makeWorker: PlannerInput['makeWorker'],
  { log, signal }: Pick<PlannerInput, 'log' | 'signal'>,
): Promise<Worker | undefined> {
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      return await makeWorker()
    } catch (error) {
      // The connection says by itself why Temporal cannot be used.
      log[failures === 0 ? 'warn' : 'debug']({ err: error }, 'failed to make the worker of commits, retrying')
      await pauseOf(retryWorkerMs, signal)
    }
  }
  return undefined
}

/** Returns whether the Lease is held; undefined when the API server did not say. */
async function isHeld({ lease, log }: Pick<PlannerInput, 'lease' | 'log'>): Promise<boolean | undefined> {
  try {
    return (await lease.tryHold()) !== 'other'
  } catch (error) {
    log.debug({ err: error }, 'failed to renew planner lease, retrying')
    return undefined
  }
}
