import { CancelledFailure, CompleteAsyncError } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import { retryAfterSeconds, scrubbedMessage } from './azure/azure-error.ts'
import { ApiError } from './kubernetes/client.ts'

const maxMessageLength = 1000

/**
 * The only translation of a failure into Temporal's: a short message without request bodies, the code as type, and Azure's or Kubernetes' own
 * wish for the next try. Everything is retried: what may not be retried is a value, not an exception.
 */
function toFailure(error: unknown): unknown {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure || error instanceof CompleteAsyncError)
    return error
  const message = (error instanceof ApiError ? error.message : scrubbedMessage(error)).slice(0, maxMessageLength)
  const seconds = error instanceof ApiError ? error.retryAfterSeconds : retryAfterSeconds(error)
  return ApplicationFailure.create({
    message,
    type: error instanceof ApiError ? `Kubernetes${error.reason}` : error instanceof Error ? error.name : 'Error',
    ...(seconds === undefined ? {} : { nextRetryDelay: seconds * 1000 }),
  })
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
