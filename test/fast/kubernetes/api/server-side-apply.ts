import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../../../activities/kubernetes/client/api-error.ts'
import { isMap } from '../../../fakes/patches.ts'
import { jsonCopy } from './json-copy.ts'
import { mergeKeys } from './strategic-merge.ts'

/** Who applies an object, and whether fields of others are taken over. */
export interface Applier {
  readonly manager: string
  readonly force: boolean
}

/** What each manager applied last, by the path of the object. Who writes otherwise owns nothing here. */
export class AppliedObjects {
  readonly #applied = new Map<string, Map<string, Json>>()

  /**
   * Returns what an object becomes: with what is applied, and without what the manager applied earlier and does not any more.
   * Errors: 409 where another manager has applied another value, and is not overruled.
   */
  next(
    path: string,
    { manager, force }: Applier,
    { before, applied }: { readonly before: Json; readonly applied: Json },
  ): Json {
    const own = this.#applied.get(path) ?? new Map<string, Json>()
    const others = [...own].filter(([name]) => name !== manager)
    for (const [name, theirs] of others)
      if (!force && conflicts(theirs, applied))
        throw new ApiError(409, 'Conflict', `PATCH ${path}: 409 Apply failed with 1 conflict: conflict with "${name}"`)
    const kept = withoutDropped(before, own.get(manager) ?? {}, applied)
    return appliedTo(kept, applied)
  }

  /** Remembers what was applied. */
  note(path: string, { manager }: Applier, applied: Json): void {
    const own = this.#applied.get(path) ?? new Map<string, Json>()
    this.#applied.set(path, own.set(manager, jsonCopy(applied)))
  }

  forget(path: string): void {
    this.#applied.delete(path)
  }
}

const identity: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'name', 'namespace'])

/** Whether two managers want different values of a field. */
function conflicts(theirs: Json, applied: Json): boolean {
  return Object.entries(applied).some(([key, value]) => {
    const other = theirs[key]
    if (other === undefined || identity.has(key)) return false
    if (isMap(value) && isMap(other)) return conflicts(other, value)
    return !isDeepStrictEqual(other, value)
  })
}

/** Takes away what was applied and is not applied any more, where it still has that value. */
function withoutDropped(object: Json, earlier: Json, applied: Json): Json {
  const result = { ...object }
  for (const [key, was] of Object.entries(earlier)) {
    const [found, wanted] = [result[key], applied[key]]
    if (isMap(found) && isMap(was) && (isMap(wanted) || wanted === undefined)) {
      const rest = withoutDropped(found, was, isMap(wanted) ? wanted : {})
      if (wanted === undefined && Object.keys(rest).length === 0) delete result[key]
      else result[key] = rest
    } else if (Array.isArray(found) && Array.isArray(was) && Array.isArray(wanted) && mergeKeys[key] !== undefined)
      result[key] = withoutDroppedEntries(found, { key: mergeKeys[key], earlier: was, applied: wanted })
    else if (wanted === undefined && isDeepStrictEqual(found, was)) delete result[key]
  }
  return result
}

interface AppliedLists {
  readonly key: string
  readonly earlier: readonly unknown[]
  readonly applied: readonly unknown[]
}

function withoutDroppedEntries(found: readonly unknown[], { key, earlier, applied }: AppliedLists): readonly unknown[] {
  const same = (list: readonly unknown[], entry: Json) => list.find((one) => isMap(one) && one[key] === entry[key])
  return found.flatMap((entry) => {
    const was = isMap(entry) ? same(earlier, entry) : undefined
    if (!isMap(entry) || !isMap(was)) return [entry]
    const wanted = same(applied, entry)
    return isMap(wanted) ? [withoutDropped(entry, was, wanted)] : []
  })
}

function appliedTo(object: Json, applied: Json): Json {
  const result = { ...object }
  for (const [key, value] of Object.entries(applied)) {
    const found = result[key]
    if (isMap(value)) result[key] = appliedTo(isMap(found) ? found : {}, value)
    else if (Array.isArray(value) && Array.isArray(found)) result[key] = appliedList(key, found, value)
    else result[key] = value
  }
  return result
}

/** Entries with a key are completed by what the server added to them; other lists are one value. */
function appliedList(name: string, found: readonly unknown[], applied: readonly unknown[]): readonly unknown[] {
  const key = mergeKeys[name]
  if (key === undefined) return applied
  const isSame = (one: unknown, other: unknown) => isMap(one) && isMap(other) && one[key] === other[key]
  const own = applied.map((entry) => {
    const same = found.find((one) => isSame(one, entry))
    return isMap(same) && isMap(entry) ? appliedTo(same, entry) : entry
  })
  return [...own, ...found.filter((one) => !applied.some((entry) => isSame(one, entry)))]
}
