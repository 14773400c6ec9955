import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../../core/values/json.ts'
import { entryOf } from '../../../core/values/records.ts'

/** One operation of a JSON patch (RFC 6902). */
export type Operation =
  | { readonly op: 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

type Fields = Readonly<Record<string, unknown>>

/**
 * Returns a merge patch as a JSON patch that applies only to the object with the same UID. Its deletion state and its lists must be those that
 * the patch was decided from. Unlike a lock by `resourceVersion` it does not conflict with writers of other fields: when a Node joins, its kubelet
 * and three controllers write to it at once.
 * `before`: the object's fields that `patch` may name; empty lists and maps stand for absent ones, as the API server leaves them out.
 */
export function guardedPatch(
  patch: Fields,
  before: Fields & { readonly metadata: { readonly uid: string; readonly deletionTimestamp?: string | undefined } },
): readonly Operation[] {
  const { uid, deletionTimestamp } = before.metadata
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    ...(deletionTimestamp === undefined ? [absent('/metadata/deletionTimestamp')] : []),
    ...operations(patch, before, ''),
  ]
}

function operations(patch: Fields, before: Fields, parent: string): readonly Operation[] {
  return Object.entries(patch).flatMap(([key, value]): readonly Operation[] => {
    const path = `${parent}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const known = entryOf(before, key)
    if (Array.isArray(value)) return replaced(value, (known ?? []) as readonly unknown[], path)
    if (value === null) return [known === undefined ? absent(path) : { op: 'remove', path }]
    if (!isObject(value)) return [{ op: 'add', path, value }]
    return isObject(known) && Object.keys(known).length > 0 ? operations(value, known, path) : added(value, path)
  })
}

/** Adds a map that is missing, without what the merge patch removes. */
function added(map: Fields, path: string): readonly Operation[] {
  if (Object.keys(map).length === 0) return []
  const set = Object.entries(map).filter(([, value]) => value !== null)
  return set.length === 0 ? [absent(path)] : [absent(path), { op: 'add', path, value: Object.fromEntries(set) }]
}

function replaced(list: readonly unknown[], known: readonly unknown[], path: string): readonly Operation[] {
  if (isDeepStrictEqual(list, known)) return []
  if (known.length === 0) return [absent(path), { op: 'add', path, value: list }]
  const guard: Operation = { op: 'test', path, value: known }
  return [guard, list.length === 0 ? { op: 'remove', path } : { op: 'replace', path, value: list }]
}

/** Tests that a field is absent: API servers read a missing field as null. */
function absent(path: string): Operation {
  return { op: 'test', path, value: null }
}
