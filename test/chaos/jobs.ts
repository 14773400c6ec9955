import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ChaosPlan } from './plan.ts'
import { type ChaosRun, runPlan } from './run.ts'

const self = fileURLToPath(import.meta.url)

/**
 * Most of what a world makes is garbage soon, and its errors are made to be thrown: a plan that is run alone has their stacks. Its code is broad and
 * runs few times, so what is compiled at once saves a twentieth.
 */
const execArgv = ['--max-semi-space-size=64', '--stack-trace-limit=1', '--always-sparkplug']

/**
 * Runs plans in processes of their own, each the next one as soon as it is free. `ended` hears of each, one after the other, and says whether others
 * follow. `file`: this one in another tree. Errors: a process that ends before its plan.
 */
export async function runBeside(
  plans: readonly ChaosPlan[],
  { jobs, file = self }: { readonly jobs: number; readonly file?: string },
  ended: (plan: ChaosPlan, run: ChaosRun) => Promise<'next' | 'enough'>,
): Promise<void> {
  const left = [...plans]
  let told: Promise<unknown> = Promise.resolve()
  const work = async () => {
    const child = fork(file, ['run'], { serialization: 'advanced', execArgv })
    const gone = once(child, 'exit').then(([code]) => {
      throw new Error(`a process that ran a plan ended with ${code}`)
    })
    gone.catch(() => {})
    try {
      for (let plan = left.shift(); plan !== undefined; plan = left.shift()) {
        const own = plan
        child.send(own)
        const [run] = (await Promise.race([once(child, 'message'), gone])) as [ChaosRun]
        const next = told.then(() => ended(own, run))
        told = next
        if ((await next) === 'enough') left.length = 0
      }
    } finally {
      child.kill()
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
}

if (process.argv[1] === self && process.argv[2] === 'run') {
  process.on('message', (plan: ChaosPlan) => {
    // Whoever has enough listens no more.
    void runPlan(plan).then((run) => process.connected && process.send?.(run))
  })
  // Whoever started it was killed: a plan of three days would go on for minutes.
  process.on('disconnect', () => process.exit())
}
