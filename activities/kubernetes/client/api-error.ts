import { ntpCommands } from '../../../core/server-time.ts'
import { timeText } from '../../../core/values/time.ts'

/** An answer of the API server that is not 2xx. `code` is the HTTP status, `reason` Kubernetes' word for it. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: number
  readonly reason: string
  /** Set where the answer contains it. */
  retryAfterSeconds?: number

  constructor(code: number, reason: string, message: string) {
    super(message)
    this.code = code
    this.reason = reason
  }
}

/** Returns whether the object does not exist (any more). */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.code === 404
}

/** Returns whether the caller lacks a right. */
export function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.code === 403
}

/** Returns whether an optimistic lock was lost, or the object exists already. */
export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.code === 409
}

/** Returns whether a request did nothing since the object is gone, or is another one by now. */
export function isGoneOrOther(error: unknown): boolean {
  return isNotFound(error) || isConflict(error)
}

/** For `catch`: returns `instead` where an error is expected, and throws any other one. */
export function expecting<T>(isExpected: (error: unknown) => boolean, instead: T): (error: unknown) => T {
  return (error) => {
    if (isExpected(error)) return instead
    throw error
  }
}

/** Returns whether a watch or a list continuation requested a version that the server has forgotten. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.code === 410
}

/** Returns whether a PodDisruptionBudget forbids an eviction now, or a request was throttled. */
export function isTooManyRequests(error: unknown): boolean {
  return error instanceof ApiError && error.code === 429
}

/** OpenSSL's codes of certificates that this machine's clock says are not valid yet, or any more. */
const outOfTime: ReadonlySet<unknown> = new Set(['CERT_NOT_YET_VALID', 'CERT_HAS_EXPIRED'])

/** Has the error of a certificate that is out of time name the clock that says so: mostly that is wrong, and by no answer can it be compared. */
export function namingClock(error: unknown): unknown {
  if (error instanceof Error && 'code' in error && outOfTime.has(error.code))
    error.message += ` by this machine's clock, on ${timeText(Date.now()).slice(0, 10)}; if that is wrong, set it by NTP: ${ntpCommands}; else renew the certificate (in AKS: az aks rotate-certs)`
  return error
}

const places = new WeakMap<object, string>()

/** Returns the error, which from now on is known to be of an API server. `place`: its address, and what a person calls it. */
export function placed(error: unknown, place: string): unknown {
  if (typeof error === 'object' && error !== null) places.set(error, place)
  return error
}

/** Returns which API server an error is of; undefined: of none. */
export function placeOf(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null ? places.get(error) : undefined
}
