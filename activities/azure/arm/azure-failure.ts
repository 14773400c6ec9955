import { RestError } from '@azure/core-rest-pipeline'
import { armErrorCode, armErrorText, retryAfterSeconds, scrubbedMessage } from './azure-error.ts'
import { type Failure, type FailureFacts, ruleFor } from './azure-failure-rules.ts'

const waitForUserMs = 60_000
const retryAfterMs: Readonly<Record<Failure['retry'], number | undefined>> = {
  retrySoon: undefined,
  retryLater: 15_000,
  waitForUser: waitForUserMs,
}
/** A throttled call that names no time. */
const throttledMs = 10_000

/** What a failure is. Never undefined: what no rule knows is Azure's, and tried again. */
export function failureOf(facts: FailureFacts): Failure {
  const rule = ruleFor(facts)
  const wait = facts.retryAfterMs ?? (rule.reason === 'Throttled' ? throttledMs : retryAfterMs[rule.retry])
  return {
    reason: rule.reason,
    remedy: rule.remedy(facts),
    retry: rule.retry,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  }
}

/** What Joiner itself finds in the way of a launch, before it asks Azure for a VM. The message names object, value and remedy. */
export class LaunchBlocked extends Error {
  readonly reason: 'ClusterNetworkUnknown' | 'NodeConfigurationRefused' | 'InstanceNotOwned' | 'CommonLaunchFailure'
  readonly retryAfterMs: number

  constructor(reason: LaunchBlocked['reason'], message: string, retryAfterMs: number = waitForUserMs) {
    super(message)
    this.name = 'LaunchBlocked'
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }
}

/** What the rules look for stands at its beginning; they search in a time that grows with the square of its length. */
const longestText = 10_000

/** Returns the facts of an answer of ARM by which the rules decide. */
export function failureFacts(error: RestError): FailureFacts {
  const seconds = retryAfterSeconds(error)
  return {
    code: armErrorCode(error) ?? error.code ?? '',
    status: error.statusCode,
    text: armErrorText(error).slice(0, longestText),
    retryAfterMs: seconds === undefined ? undefined : seconds * 1000,
  }
}

/** What of an error the rules look at; undefined when it comes from somewhere else than Azure. */
export function azureFailure(error: unknown): Failure | undefined {
  if (error instanceof LaunchBlocked)
    return {
      reason: error.reason,
      remedy: error.message,
      retry: 'waitForUser',
      retryAfterMs: error.retryAfterMs,
    }
  if (error instanceof RestError) return failureOf(failureFacts(error))
  const name = error instanceof Error ? error.name : ''
  return /AuthenticationError$|^CredentialUnavailable/.test(name)
    ? failureOf({ code: name, text: String(error) })
    : undefined
}

/** Reason, remedy and what Azure said, in one line that is fit for conditions, events and histories. */
export function failureMessage(error: unknown, { reason, remedy }: Failure): string {
  if (error instanceof LaunchBlocked) return `${reason}: ${remedy}`
  return `${reason}: ${remedy}. Azure said: ${scrubbedMessage(error)}`
}
