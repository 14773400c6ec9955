import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ChaosPlan } from './plan.ts'
import { type ChaosRun, runPlan } from './run.ts'

const self = fileURLToPath(import.meta.url)

/**
 * Runs plans in processes of their own, each the next one as soon as it is free. `ended` hears of each, one after the other.
 * Errors: a process that ends before its plan.
 */
export async function runBeside(
  plans: readonly ChaosPlan[],
  jobs: number,
  ended: (plan: ChaosPlan, run: ChaosRun) => Promise<void>,
): Promise<void> {
  const left = [...plans]
  let told = Promise.resolve()
  const work = async () => {
    const child = fork(self, ['run'], { serialization: 'advanced' })
    const gone = once(child, 'exit').then(([code]) => {
      throw new Error(`a process that ran a plan ended with ${code}`)
    })
    gone.catch(() => {})
    try {
      for (let plan = left.shift(); plan !== undefined; plan = left.shift()) {
        const own = plan
        child.send(own)
        const [run] = (await Promise.race([once(child, 'message'), gone])) as [ChaosRun]
        told = told.then(() => ended(own, run))
        await told
      }
    } finally {
      child.kill()
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
}

if (process.argv[1] === self && process.argv[2] === 'run')
  process.on('message', (plan: ChaosPlan) => {
    void runPlan(plan).then((run) => process.send?.(run))
  })
