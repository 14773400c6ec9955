import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../activities/kubernetes/client/api-error.ts'
import type { Operation } from '../../activities/kubernetes/client/json-patch.ts'

/** Whether a value is an object and no list. */
export const isMap = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A value as a map; empty where it is none. */
export const asMap = (value: unknown): Json => (isMap(value) ? value : {})

/** JSON merge patch (RFC 7396). The lock in `metadata` is no change. */
export function merged(target: Json, patch: Json): Json {
  const result: Json = { ...target }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[key]
    else if (isMap(value)) result[key] = merged(asMap(result[key]), value)
    else result[key] = value
  }
  return result
}

/** JSON patch (RFC 6902), as far as Joiner uses it. Errors: 409 for a test that does not hold, as the client makes of it. */
export function operated(object: Json, operations: readonly Operation[]): Json {
  for (const operation of operations) {
    const keys = operation.path
      .split('/')
      .slice(1)
      .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    const last = keys.pop() as string
    const parent = keys.reduce<Json | undefined>((at, key) => at?.[key] as Json | undefined, object)
    if (operation.op === 'test') {
      if (!isDeepStrictEqual(parent?.[last] ?? null, operation.value))
        throw new ApiError(409, 'Conflict', `the server rejected our request: test of ${operation.path} failed`)
    } else if (parent === undefined) throw new ApiError(422, 'Invalid', `${operation.path}: no such parent`)
    else if (operation.op === 'remove') delete parent[last]
    else parent[last] = operation.value
  }
  return object
}
