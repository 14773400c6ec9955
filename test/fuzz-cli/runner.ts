import { Worker } from 'node:worker_threads'
import type { Case } from './cases.ts'
import type { Ran } from './thread.ts'

/** What became of a case. `hung` and `large`: it did not end before the thread had used up what it may. */
export type Outcome = Ran | { readonly kind: 'hung' | 'large' } | { readonly kind: 'died'; readonly message: string }

/** Files of less than a megabyte need less than a tenth of this processor time, and less than this heap. */
const hungMs = 20_000
const heapMiB = 320
const lookMs = 25

/** Runs cases one after the other in a thread; one that dies is replaced. */
export class Runner {
  #worker: Worker | undefined

  async run(one: Case): Promise<Outcome> {
    const worker = this.#worker ?? (await started())
    this.#worker = worker
    const outcome = await outcomeOf(worker, one)
    if (outcome.kind !== 'ran') await this.stop()
    return outcome
  }

  async stop(): Promise<void> {
    await this.#worker?.terminate()
    this.#worker = undefined
  }
}

/** Its modules are loaded before a case is timed. */
function started(): Promise<Worker> {
  const worker = new Worker(new URL('thread.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: heapMiB },
  })
  return new Promise((resolve, reject) => {
    worker.once('message', () => resolve(worker))
    worker.once('error', reject)
  })
}

function outcomeOf(worker: Worker, one: Case): Promise<Outcome> {
  return new Promise((resolve) => {
    const isOver = clock(hungMs)
    const timer = setInterval(() => isOver() && end({ kind: 'hung' }), lookMs)
    function end(outcome: Outcome): void {
      clearInterval(timer)
      worker.removeAllListeners('message').removeAllListeners('error')
      // What a thread that is being ended still has to say is of no interest.
      worker.on('error', () => {})
      resolve(outcome)
    }
    worker.on('message', end)
    worker.on('error', (error: NodeJS.ErrnoException) =>
      end(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? { kind: 'large' } : { kind: 'died', message: error.message }),
    )
    worker.postMessage(one, [])
  })
}

/** Reports whether the process has used so much processor time since: a busy machine gives it little of each second. */
function clock(milliseconds: number): () => boolean {
  const before = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000 >= milliseconds
  }
}
