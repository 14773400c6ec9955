import { log, type WorkflowInterceptors } from '@temporalio/workflow'
import { unreadableWhy } from '../core/values/unreadable.ts'
import { holdSignal, pauseSignal } from './messages.ts'

/** Signals that are carried out whatever they hold: a brake must not be lost. */
const brakes: readonly string[] = [pauseSignal.name, holdSignal.name]

/**
 * What becomes of payloads that cannot be read. A message is refused: an update with an answer, a signal with a line in the log, and the work goes on.
 * What a run consists of, its input and what its activities answered, must be known: the workflow task fails, and is tried again, until a process takes
 * it that can read it.
 */
export const interceptors = (): WorkflowInterceptors => ({
  inbound: [
    {
      async execute(input, next) {
        known('input of the workflow', input.args)
        return next(input)
      },
      async handleSignal(input, next) {
        const why = firstUnreadable(input.args)
        if (why !== undefined && !brakes.includes(input.signalName))
          return log.warn('a signal is ignored: its payload cannot be read', { signal: input.signalName, why })
        return next(input)
      },
      validateUpdate(input, next) {
        const why = firstUnreadable(input.args)
        if (why !== undefined) throw new Error(`${input.name}: the payload cannot be read (${why}); send it as JSON`)
        next(input)
      },
    },
  ],
  outbound: [
    {
      async scheduleActivity(input, next) {
        return known(`answer of ${input.activityType}`, await next(input))
      },
      async scheduleLocalActivity(input, next) {
        return known(`answer of ${input.activityType}`, await next(input))
      },
    },
  ],
})

function firstUnreadable(args: readonly unknown[]): string | undefined {
  return args.map(unreadableWhy).find((why) => why !== undefined)
}

function known<Value>(what: string, value: Value): Value {
  const why = firstUnreadable(Array.isArray(value) ? value : [value])
  if (why !== undefined) throw new Error(`the ${what} cannot be read (${why})`)
  return value
}
