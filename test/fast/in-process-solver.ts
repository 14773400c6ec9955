import { Breadcrumb } from '../../activities/scheduler-thread/breadcrumb.ts'
import type { ToSolver } from '../../activities/scheduler-thread/messages.ts'
import { serveSolver } from '../../activities/scheduler-thread/serve.ts'
import type { StartThread } from '../../activities/scheduler-thread/supervised-thread.ts'
import { explainedPlan } from '../../core/scheduling/schedule.ts'
import { SimulatedProcess } from './simulated-process.ts'

/**
 * Returns the solver without a thread of its own. Messages are copied when they are sent, as between threads, and arrive one by one in their order before
 * any time passes. It belongs to the simulated process that starts it: after a kill nothing arrives. It ends when `scheduler` throws.
 */
export function solverInProcess(scheduler: typeof explainedPlan): StartThread {
  return ({ breadcrumb }, { answered, ended }) => {
    const process = SimulatedProcess.current
    let isRunning = true
    const soon = (what: () => void) => queueMicrotask(process === undefined ? what : () => process.deliver(what))
    const post = <M>(message: M, arrive: (copy: M) => void) => {
      const copy = structuredClone(message)
      soon(() => {
        if (isRunning) arrive(copy)
      })
    }
    let handle: (message: ToSolver) => void = () => {}
    serveSolver(
      {
        on: (_, listener) => {
          handle = listener
        },
        postMessage: (answer) => post(answer, answered),
      },
      new Breadcrumb(breadcrumb),
      scheduler,
    )
    const handled = (message: ToSolver) => {
      try {
        handle(message)
      } catch (error) {
        isRunning = false
        soon(() => ended('exception', error as Error))
      }
    }
    return {
      postMessage: (message) => post(message, handled),
      terminate: () => {
        isRunning = false
      },
    }
  }
}

/** With Joiner's own scheduler. */
export const inProcessSolver: StartThread = solverInProcess(explainedPlan)
