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

/** Returns whether a watch or a list continuation requested a version that the server has forgotten. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.code === 410
}

/** Returns whether a PodDisruptionBudget forbids an eviction now, or a request was throttled. */
export function isTooManyRequests(error: unknown): boolean {
  return error instanceof ApiError && error.code === 429
}
