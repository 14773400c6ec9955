import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../activities/kubernetes/client/api-error.ts'
import type { Operation } from '../../activities/kubernetes/client/json-patch.ts'

/** Whether a value is an object and no list. */
export const isMap = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A value as a map; empty where it is none. */
const asMap = (value: unknown): Json => (isMap(value) ? value : {})

/** JSON merge patch (RFC 7396). The lock in `metadata` is no change. */
export function merged(target: Json, patch: Json): Json {
  const result: Json = { ...target }
  for (const key in patch) {
    const value = patch[key]
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
    } else if (Array.isArray(parent)) inList(parent, last, operation)
    else if (parent === undefined) throw new ApiError(422, 'Invalid', `${operation.path}: no such parent`)
    else if (operation.op === 'remove' && !(last in parent))
      throw new ApiError(409, 'Conflict', `${operation.path}: nothing to remove`)
    else if (operation.op === 'remove') delete parent[last]
    else parent[last] = operation.value
  }
  return object
}

/** Entries are counted from 0, and `-` is the place after the last. */
function inList(list: unknown[], at: string, operation: Operation): void {
  const place = at === '-' ? list.length : Number(at)
  if (operation.op === 'remove') list.splice(place, 1)
  else list.splice(place, operation.op === 'add' ? 0 : 1, operation.value)
}

/** An object as tests look at it: what is not set is empty. */
export interface FakeObject {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    readonly labels: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string>>
    readonly finalizers: readonly string[]
    readonly deletionTimestamp?: string
  }
  readonly spec: Json & { readonly taints: readonly { readonly key: string; readonly effect: string }[] }
  readonly status: Json & {
    readonly conditions: readonly {
      readonly type: string
      readonly status: string
      readonly reason?: string
      readonly message?: string
    }[]
  }
  readonly data: Readonly<Record<string, string>>
}

/** Returns an object as tests look at it, a copy. */
export function shownObject(object: Json): FakeObject {
  const { metadata, spec, status, data } = structuredClone(object)
  return {
    ...object,
    metadata: { labels: {}, annotations: {}, finalizers: [], ...asMap(metadata) },
    spec: { taints: [], ...asMap(spec) },
    status: { conditions: [], ...asMap(status) },
    data: asMap(data),
  } as unknown as FakeObject
}
