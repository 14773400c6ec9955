// Fields that one version does not have travel in an annotation of the object in the other version, as a list of guarded changes. Each is reverted
// only where the converted value is unchanged, so that an edit made in the other version wins.

import { isDeeper, isObject, mostLevels } from '../../core/values/json.ts'

export type Json = { readonly [key: string]: unknown }

/** A change of some keys of the object at `path`, or of one element of the list there. */
type Change =
  | { readonly path: readonly string[]; readonly keys: readonly string[]; readonly from: Json; readonly to: Json }
  | { readonly path: readonly string[]; readonly element: number; readonly from: unknown; readonly to: unknown }

/** Keys whose values are only meaningful together: all of them are restored or none. */
export interface Groups {
  readonly at: string
  readonly keys: readonly string[]
}

/** Returns the object without some keys. */
export function without(object: Json, ...keys: readonly string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
}

export function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (Array.isArray(one))
    return (
      Array.isArray(other) && one.length === other.length && one.every((value, index) => isEqual(value, other[index]))
    )
  if (!isObject(one) || !isObject(other)) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isEqual(one[key], other[key]))
  )
}

/** Returns the changes that lead from one object to another. */
export function changes(from: Json, to: Json, groups: readonly Groups[]): Change[] {
  return changesAt({ from, to }, groups, [])
}

/** Both versions of one object. */
interface Pair {
  readonly from: Json
  readonly to: Json
}

function changesAt({ from, to }: Pair, groups: readonly Groups[], path: readonly string[]): Change[] {
  const grouped = groups.find(({ at }) => at === path.join('.'))?.keys ?? []
  const single = [...new Set([...Object.keys(from), ...Object.keys(to)])].filter((key) => !grouped.includes(key))
  return [
    ...(isEqual(pick(from, grouped), pick(to, grouped)) ? [] : [keysChange(path, grouped, { from, to })]),
    ...single.flatMap((key) => keyChanges({ from, to }, key, { groups, path })),
  ]
}

function keyChanges(
  { from, to }: Pair,
  key: string,
  { groups, path }: { readonly groups: readonly Groups[]; readonly path: readonly string[] },
): Change[] {
  const [before, after] = [from[key], to[key]]
  if (Object.hasOwn(from, key) === Object.hasOwn(to, key)) {
    if (isEqual(before, after)) return []
    const inner = [...path, key]
    // A reference is one unit: half of an old one and half of a new one would name a third object.
    if (isObject(before) && isObject(after) && key !== 'nodeClassRef')
      return changesAt({ from: before, to: after }, groups, inner)
    if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
      return before.flatMap((value, element) =>
        isEqual(value, after[element]) ? [] : [{ path: inner, element, from: value, to: after[element] }],
      )
  }
  return [keysChange(path, [key], { from, to })]
}

function keysChange(path: readonly string[], keys: readonly string[], { from, to }: Pair): Change {
  return { path, keys, from: pick(from, keys), to: pick(to, keys) }
}

function pick(object: Json, keys: readonly string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([key]) => keys.includes(key)))
}

/** Applies the changes whose guard holds. */
export function applied(object: Json, list: readonly Change[]): Json {
  return list.reduce((result, change) => at(result, change.path, change) as Json, object)
}

function at(value: unknown, [key, ...rest]: readonly string[], change: Change): unknown {
  if (key !== undefined)
    return isObject(value) && Object.hasOwn(value, key) ? { ...value, [key]: at(value[key], rest, change) } : value
  if ('element' in change) return Array.isArray(value) ? withElement(value, change) : value
  if (!isObject(value) || !isEqual(pick(value, change.keys), change.from)) return value
  return { ...without(value, ...change.keys), ...change.to }
}

/** The element may have moved when others were inserted or removed in between. */
function withElement(list: readonly unknown[], change: Change & { readonly element: number }): readonly unknown[] {
  const found = isEqual(list[change.element], change.from)
    ? change.element
    : list.findIndex((value) => isEqual(value, change.from))
  return found < 0 ? list : list.with(found, change.to)
}

/** The other version lacks only a field or two of an object; each change requires a scan of all of it. */
const mostChanges = 1000

/** Reads the changes of an annotation. An invalid one is ignored: an object must stay readable. */
export function readChanges(text: unknown): readonly Change[] {
  const list = parsed(text)
  return Array.isArray(list) && list.length <= mostChanges ? list.filter(isChange) : []
}

function isChange(value: unknown): value is Change {
  if (!isObject(value) || !isTexts(value['path'])) return false
  return (
    Number.isInteger(value['element']) || (isTexts(value['keys']) && isObject(value['from']) && isObject(value['to']))
  )
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string')
}

/** Parses JSON; undefined when the value is no text, no JSON, or nested deeper than an object may be. */
export function parsed(text: unknown): unknown {
  if (typeof text !== 'string') return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isDeeper(value, mostLevels) ? undefined : value
  } catch {
    return undefined
  }
}
