import { ApplicationFailure, isCancellation, TemporalFailure } from '@temporalio/workflow'
import { notBeingDeleted } from '../core/node-claim/lifecycle.ts'

/** Returns the message of what made an activity fail. */
export function causeMessage(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error ? cause.message : String(cause)
}

/**
 * Whether an activity has failed for good. Anything else is no outcome of a step: a cancellation, or an answer that cannot be read. The error of a local
 * activity comes without an ActivityFailure around it, and so does its time limit once it is replayed.
 */
export function isFailedAttempt(error: unknown): boolean {
  return error instanceof TemporalFailure && !isCancellation(error)
}

/** Whether a step was refused since its claim is not being deleted. */
export function isRefusedEnd(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof ApplicationFailure && error.cause.type === notBeingDeleted
}
