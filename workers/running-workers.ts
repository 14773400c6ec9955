import { IllegalStateError, TransportError, type Worker } from '@temporalio/worker'

/** How often it is looked whether a worker has failed, and at how many looks it is then waited for: some seconds. */
const looks = { everyMs: 2500, patient: 2 } as const

const refused = 'workers ended because Temporal refused them; a new process waits until it can be used'

/**
 * Runs the workers until the signal fires. Errors: a worker that failed; it takes the others with it. Workers fail for good when Temporal refuses their
 * caller for more than a minute, as it does with a key that has expired, and their library can then not always put them away: it throws, or waits for
 * ever. So the process is to end.
 */
export async function runWorkers(workers: readonly Worker[], signal: AbortSignal): Promise<void> {
  const stop = () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  signal.addEventListener('abort', stop, { once: true })
  const runs = Promise.all(workers.map(run))
  if (signal.aborted) stop()
  const { failed, stopWatching } = watchFailures(workers)
  try {
    await Promise.race([runs, failed])
  } catch (error) {
    throw isRefusal(error) ? new Error(refused, { cause: error }) : error
  } finally {
    stopWatching()
    stop()
    signal.removeEventListener('abort', stop)
  }
}

/**
 * On a busy machine the library now and then refuses to put away a worker that has stopped in order, as its last poll has not let go of it yet. Such a
 * worker has no task left and polls no more, so it has ended.
 */
async function run(worker: Worker): Promise<void> {
  try {
    await worker.run()
  } catch (error) {
    if (worker.getState() !== 'STOPPED' || !isStillInUse(error)) throw error
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof TransportError || isStillInUse(error)
}

function isStillInUse(error: unknown): boolean {
  return error instanceof IllegalStateError && error.message.startsWith('Worker still in use')
}

/** Fails some seconds after a worker has failed, whether or not it could be put away. */
function watchFailures(workers: readonly Worker[]): { readonly failed: Promise<never>; stopWatching: () => void } {
  const { promise: failed, reject } = Promise.withResolvers<never>()
  let failedLooks = 0
  const timer = setInterval(() => {
    if (!workers.some((worker) => worker.getState() === 'FAILED')) return
    failedLooks += 1
    if (failedLooks > looks.patient) reject(new Error(refused))
  }, looks.everyMs)
  return { failed, stopWatching: () => clearInterval(timer) }
}
