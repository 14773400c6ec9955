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
      const copy = messageCopy(message)
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

/** As `structuredClone` of what messages have in them, in a fraction of the time: what is shared in one stays shared. Errors: what is no data. */
function messageCopy<T>(value: T, known = new Map<unknown, unknown>()): T {
  if (typeof value === 'function' || typeof value === 'symbol') throw new Error(`a message has a ${typeof value} in it`)
  if (typeof value !== 'object' || value === null) return value
  const copy = known.get(value) ?? newCopy(value, known)
  return copy as T
}

function newCopy(value: object, known: Map<unknown, unknown>): object {
  const keep = <C extends object>(copy: C): C => {
    known.set(value, copy)
    return copy
  }
  if (Array.isArray(value)) {
    const list: unknown[] = keep([])
    for (const one of value) list.push(messageCopy<unknown>(one, known))
    return list
  }
  if (value instanceof Map) {
    const map = keep(new Map<unknown, unknown>())
    for (const [key, one] of value) map.set(key, messageCopy<unknown>(one, known))
    return map
  }
  if (value instanceof Set) return keep(new Set([...(value as Set<unknown>)].map((one) => messageCopy(one, known))))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null)
    throw new Error(`a message has a ${value.constructor.name} in it`)
  const copy = keep<Record<string, unknown>>({ ...value })
  for (const key in copy) copy[key] = messageCopy(copy[key], known)
  return copy
}
