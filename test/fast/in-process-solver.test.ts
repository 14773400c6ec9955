import { pino } from 'pino'
import { expect, it } from 'vitest'
import { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import { SolverThread } from '../../activities/scheduler-thread/solver-thread.ts'
import { inProcessSolver } from './in-process-solver.ts'
import { SimulatedProcess } from './simulated-process.ts'

/** A solver of a simulated process that is asked something, and whether it has answered. */
function asked(process: SimulatedProcess) {
  return process.run(() => {
    const log = pino({ level: 'silent' })
    const solver = new SolverThread(new ClusterCache({} as never, log), log, { start: inProcessSolver })
    const asking = { isAnswered: false, answer: solver.idle() }
    void asking.answer.then(() => {
      asking.isAnswered = true
    })
    return asking
  })
}

it('answers in the process that asks, and never after its kill', async () => {
  const killed = new SimulatedProcess('killed')
  const frozen = new SimulatedProcess('frozen')
  const [ofKilled, ofFrozen] = [asked(killed), asked(frozen)]
  killed.kill()
  frozen.freeze()
  // It asks last and is answered, so the others would have been answered before it.
  await asked(new SimulatedProcess('lives')).answer
  expect([ofKilled.isAnswered, ofFrozen.isAnswered]).toEqual([false, false])
  frozen.thaw()
  await ofFrozen.answer
  expect(ofKilled.isAnswered).toBe(false)
})
