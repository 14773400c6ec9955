import { RestError } from '@azure/core-rest-pipeline'
import { refusalWords } from '../refusals/refusal-words.ts'
import { armErrorCode, armErrorText, retryAfterSeconds, scrubbedMessage } from './azure-error.ts'
import { type Failure, type FailureFacts, ruleFor } from './azure-failure-rules.ts'

const waitForUserMs = 60_000
const shortestWaitMs = 100
const retryAfterMs: Readonly<Record<Failure['retry'], number | undefined>> = {
  retrySoon: undefined,
  retryLater: 15_000,
  waitForUser: waitForUserMs,
}
/** Wait after a throttled call that names no time. */
const throttledMs = 10_000

/** Classifies a failure. Never undefined: a failure without a rule is Azure's, and retried. */
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

/** Thrown when Joiner itself finds an obstacle to a launch, before it asks Azure for a VM. The message names object, value and remedy. */
export class LaunchBlocked extends Error {
  readonly reason:
    | 'ClusterNetworkUnknown'
    | 'NodeConfigurationRefused'
    | 'InstanceNotOwned'
    | 'CommonLaunchFailure'
    | 'FallbackTooDear'
  readonly retryAfterMs: number

  constructor(reason: LaunchBlocked['reason'], message: string, retryAfterMs: number = waitForUserMs) {
    super(message)
    this.name = 'LaunchBlocked'
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }
}

/** Thrown while another launch of the AKSNodeClass goes before all others (`launch-turn.ts`). */
export class NotItsTurn extends LaunchBlocked {
  /** Over in seconds: it is not reported. */
  readonly isBrief: boolean

  constructor(message: string, { waitMs, isBrief = false }: { readonly waitMs: number; readonly isBrief?: boolean }) {
    super('CommonLaunchFailure', message, Math.min(Math.max(waitMs, shortestWaitMs), waitForUserMs))
    this.isBrief = isBrief
  }
}

/**
 * How long nothing follows a request that got no answer. It goes by name: a late DELETE would end the VM that is made next, a late restart would hit the
 * pods that came back after the one before. With the wait for the answer that is a minute.
 */
const lateMs = 30_000

/** How long what a process that was lost had sent may still take effect: it may have waited for an answer. */
export const lostRequestMs = 2 * lateMs

/** Thrown for a request that got no answer, or one of a server at a loss (5xx): it may still take effect. */
export class RequestUndecided extends Error {
  readonly failure: Failure

  constructor(error: RestError) {
    super(scrubbedMessage(error))
    this.name = 'RequestUndecided'
    this.failure = { ...failureOf(failureFacts(error)), retryAfterMs: lateMs }
  }
}

/** Carries out a request that must not take effect after what follows it. Errors: its own; without an answer that says what became of it one that is waited for. */
export async function heardOut(request: Promise<void>): Promise<void> {
  try {
    await request
  } catch (error) {
    throw error instanceof RestError && isUndecided(error) ? new RequestUndecided(error) : error
  }
}

function isUndecided({ code, statusCode }: RestError): boolean {
  return statusCode === undefined ? code === RestError.REQUEST_SEND_ERROR : statusCode >= 500
}

/** Longest text that rules search, whose time grows with the square of its length. What they search for is at its beginning. */
const longestText = 10_000

/** Returns the facts of an answer of ARM by which the rules decide. */
export function failureFacts(error: RestError): FailureFacts {
  const seconds = retryAfterSeconds(error)
  return {
    code: armErrorCode(error) ?? error.code ?? '',
    status: error.statusCode,
    text: armErrorText(error).slice(0, longestText),
    ...refusalWords(error),
    retryAfterMs: seconds === undefined ? undefined : seconds * 1000,
  }
}

/** What of an error the rules look at; undefined when it comes from somewhere else than Azure. */
export function azureFailure(error: unknown): Failure | undefined {
  if (error instanceof LaunchBlocked)
    return { reason: error.reason, remedy: error.message, retry: 'waitForUser', retryAfterMs: error.retryAfterMs }
  if (error instanceof RequestUndecided) return error.failure
  if (error instanceof RestError) return failureOf(failureFacts(error))
  const name = error instanceof Error ? error.name : ''
  return /AuthenticationError$|^CredentialUnavailable/.test(name)
    ? failureOf({ code: name, text: String(error) })
    : undefined
}

/** Returns reason, remedy and Azure's message, in one line that is fit for conditions, events and histories. */
export function failureMessage(error: unknown, { reason, remedy }: Failure): string {
  if (error instanceof LaunchBlocked) return `${reason}: ${remedy}`
  return `${reason}: ${remedy}. Azure said: ${scrubbedMessage(error)}`
}
