import { Breadcrumb } from '../../activities/scheduler-thread/breadcrumb.ts'
import type { ToSolver } from '../../activities/scheduler-thread/messages.ts'
import { serveSolver } from '../../activities/scheduler-thread/serve.ts'
import type { StartThread } from '../../activities/scheduler-thread/supervised-thread.ts'
import { SimulatedProcess } from './simulated-process.ts'

/**
 * The solver without a thread of its own. Messages are copied when they are sent, as between threads, and arrive one by one in their order before any
 * time passes. It belongs to the simulated process that starts it: after a kill nothing arrives.
 */
export const inProcessSolver: StartThread = ({ breadcrumb }, { answered }) => {
  const process = SimulatedProcess.current
  let isRunning = true
  const post = <M>(message: M, arrive: (copy: M) => void) => {
    const copy = structuredClone(message)
    const arrives = () => {
      if (isRunning) arrive(copy)
    }
    queueMicrotask(process === undefined ? arrives : () => process.deliver(arrives))
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
  )
  return {
    postMessage: (message) => post(message, handle),
    terminate: () => {
      isRunning = false
    },
  }
}
