/** An answer of the API server that is not 2xx. `code` is the HTTP status, `reason` Kubernetes' word for it. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: number
  readonly reason: string
  /** Where the answer says it. */
  retryAfterSeconds?: number

  constructor(code: number, reason: string, message: string) {
    super(message)
    this.code = code
    this.reason = reason
  }
}

/** The object does not exist (any more). */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.code === 404
}

/** An optimistic lock was lost, or the object exists already. */
export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.code === 409
}

/** A watch or a list continuation asked for a version that the server has forgotten. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.code === 410
}

/** An eviction that a PodDisruptionBudget forbids now, or a throttled request. */
export function isTooManyRequests(error: unknown): boolean {
  return error instanceof ApiError && error.code === 429
}
