import { CancelledFailure, CompleteAsyncError } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import { ArmBudgetExhausted } from './azure/arm/arm-budget.ts'
import { scrubbedMessage } from './azure/arm/azure-error.ts'
import { azureFailure, failureMessage } from './azure/arm/azure-failure.ts'
import { ApiError } from './kubernetes/client/api-error.ts'

const maxMessageLength = 1000
/** Shortest retry delay, after the activity itself has waited. */
const soonMs = 100

/**
 * Translates a failure into Temporal's; the only place that does. The message is short and has no request bodies, the type names the failure. The
 * wait is Azure's or Kubernetes', else one that suits the failure, so that retries are not spent on what only a user can fix.
 * Everything is retried but `claimBeingDeleted`: a result that must not be retried is a value, not an exception.
 */
export function toFailure(error: unknown): unknown {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure || error instanceof CompleteAsyncError)
    return error
  const { message, type, retryAfterMs } = described(error)
  return ApplicationFailure.create({
    message: message.slice(0, maxMessageLength),
    type,
    ...(retryAfterMs === undefined ? {} : { nextRetryDelay: retryAfterMs }),
  })
}

/**
 * Returns a failure of Azure whose wait, or the first part of it, the activity itself spends, so that it can end early. Other errors are not
 * delayed here and stay as they are.
 */
export function waitingFailure(
  error: unknown,
  longestMs: number,
): { readonly waitMs: number; readonly failure: unknown } {
  const retryAfterMs = azureFailure(error)?.retryAfterMs ?? 0
  if (retryAfterMs === 0) return { waitMs: 0, failure: error }
  const { message, type } = described(error)
  const waitMs = Math.min(retryAfterMs, longestMs)
  const nextRetryDelay = Math.max(retryAfterMs - waitMs, soonMs)
  return {
    waitMs,
    failure: ApplicationFailure.create({ message: message.slice(0, maxMessageLength), type, nextRetryDelay }),
  }
}

interface Described {
  readonly message: string
  readonly type: string
  /** Azure's or Kubernetes' wait, or one that suits the failure. */
  readonly retryAfterMs?: number | undefined
}

export function described(error: unknown): Described {
  if (error instanceof ApiError) {
    const seconds = error.retryAfterSeconds
    return {
      message: error.message,
      type: `Kubernetes${error.reason}`,
      retryAfterMs: seconds === undefined ? undefined : seconds * 1000,
    }
  }
  if (error instanceof ArmBudgetExhausted)
    return { message: error.message, type: error.name, retryAfterMs: error.retryAfterMs }
  const failure = azureFailure(error)
  if (failure === undefined)
    return { message: scrubbedMessage(error), type: error instanceof Error ? error.name : 'Error' }
  return { message: failureMessage(error, failure), type: failure.reason, retryAfterMs: failure.retryAfterMs }
}

/** Wraps each activity so that what it throws is translated. */
export function translatingFailures<A extends Record<keyof A, (input: never) => Promise<unknown>>>(activities: A): A {
  return Object.fromEntries(
    Object.entries<(input: never) => Promise<unknown>>(activities).map(([name, run]) => [
      name,
      async (input: never) => {
        try {
          return await run(input)
        } catch (error) {
          throw toFailure(error)
        }
      },
    ]),
  ) as unknown as A
}
