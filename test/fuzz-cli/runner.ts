import { Worker } from 'node:worker_threads'
import { boundsOf, clock } from '../../starter/cli/bounded/run.ts'
import type { Case } from './cases.ts'
import type { Ran } from './thread.ts'

/** What became of a case. `slow` and `large`: it was ended at the bounds that the command line has. */
export type Outcome = Ran | { readonly kind: 'slow' | 'large' } | { readonly kind: 'died'; readonly message: string }

const bounds = boundsOf([])
const lookMs = 25

/** Runs cases one after the other in a thread, with the bounds of the command line; one that dies is replaced. */
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
    resourceLimits: { maxOldGenerationSizeMb: bounds.heapMiB },
  })
  return new Promise((resolve, reject) => {
    worker.once('message', () => resolve(worker))
    worker.once('error', reject)
  })
}

function outcomeOf(worker: Worker, one: Case): Promise<Outcome> {
  return new Promise((resolve) => {
    const isOver = clock(bounds.milliseconds)
    const timer = setInterval(() => isOver() && end({ kind: 'slow' }), lookMs)
    function end(outcome: Outcome): void {
      clearInterval(timer)
      worker.removeAllListeners('message').removeAllListeners('error')
      // What a thread that is being ended still has to say is of no interest.
      worker.on('error', () => {})
      resolve(outcome)
    }
    worker.on('message', (message: Ran | { readonly kind: 'doing' }) => {
      if (message.kind === 'ran') end(message)
    })
    worker.on('error', (error: NodeJS.ErrnoException) =>
      end(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? { kind: 'large' } : { kind: 'died', message: error.message }),
    )
    worker.postMessage(one, [])
  })
}
