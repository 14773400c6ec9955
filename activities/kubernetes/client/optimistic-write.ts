import { pauseFor } from '../../activity-context.ts'
import { isConflict, isNotFound } from './api-error.ts'

/** A merge patch of an object, without the lock; undefined: nothing to change. */
export type Patch = Readonly<Record<string, unknown>> | undefined

/** How an object is found and written. `write` fails with a conflict when the object is not the one it was decided from. */
export interface Access<T> {
  /** What the cache knows: the first decision needs no read. */
  readonly cached: () => T | undefined
  /** The object as the API server has it now; undefined when it is gone. */
  readonly live: () => Promise<T | undefined>
  /** Undefined: nothing to write. */
  readonly write: (object: T) => Promise<T> | undefined
}

/**
 * A lost lock means that somebody else's write went through, so it is decided again at once, by the live object, however often that
 * takes. Time bounds it, below the shortest timeout of an activity: what still loses then says so in its failure, and Temporal retries.
 */
const conflictsMs = 7000
/** Waits between later attempts are random, so that writers that met do not meet again. */
const longestPauseMs = 100

const never = new AbortController().signal

/** Writes by what was seen. Returns the object as it is afterwards; undefined when it is gone. */
export async function writeOptimistically<T>({ cached, live, write }: Access<T>): Promise<T | undefined> {
  const giveUpAt = performance.now() + conflictsMs
  let object = cached() ?? (await live())
  for (let attempt = 1; object !== undefined; attempt++) {
    try {
      return await (write(object) ?? object)
    } catch (error) {
      if (isNotFound(error)) return undefined
      if (!isConflict(error) || performance.now() > giveUpAt) throw error
    }
    // The first conflict is mostly a cache that lagged; nothing is gained by waiting.
    if (attempt > 1) await pauseFor(Math.random() * Math.min(longestPauseMs, 2 ** attempt), never)
    object = await live()
  }
  return undefined
}

/** A merge patch that only the very object takes, and only in the version that it was decided from. */
export function lockedPatch(
  patch: Readonly<Record<string, unknown>>,
  { resourceVersion, uid }: { readonly resourceVersion: string; readonly uid: string },
): Record<string, unknown> {
  const metadata = (patch['metadata'] ?? {}) as Record<string, unknown>
  return { ...patch, metadata: { ...metadata, resourceVersion, uid } }
}

/**
 * A merge patch of maps leaves what others wrote beside it, so the object's identity is lock enough. One that holds a list replaces the
 * list, so it must come from the latest object.
 */
export function patchOf(
  patch: Readonly<Record<string, unknown>>,
  object: { readonly resourceVersion: string; readonly uid: string },
): Record<string, unknown> {
  if (replacesLists(patch)) return lockedPatch(patch, object)
  const metadata = (patch['metadata'] ?? {}) as Record<string, unknown>
  return { ...patch, metadata: { ...metadata, uid: object.uid } }
}

function replacesLists(patch: Readonly<Record<string, unknown>>): boolean {
  return Object.values(patch).some(
    (value) =>
      Array.isArray(value) ||
      (typeof value === 'object' && value !== null && replacesLists(value as Record<string, unknown>)),
  )
}
