import { pauseFor } from '../../activity-context.ts'
import { isConflict, isNotFound } from './api-error.ts'

/** A merge patch of an object, without the lock; undefined when nothing changes. */
export type Patch = Readonly<Record<string, unknown>> | undefined

/** Reads and writes of an object. `write` fails with a conflict when the object is not the one it was decided from. */
export interface Access<T> {
  /** The object in the cache: the first decision needs no read. */
  readonly cached: () => T | undefined
  /** The object as the API server has it now; undefined when it is gone. */
  readonly live: () => Promise<T | undefined>
  /** Undefined: nothing to write. */
  readonly write: (object: T) => Promise<T> | undefined
  /** Runs all of it in one turn, so that what is decided is not old by the time it is sent (`KubernetesClient.inTurn`). */
  readonly inTurn?: ((section: () => Promise<T | undefined>) => Promise<T | undefined>) | undefined
}

/**
 * Time limit of retries after conflicts. A conflict means that another write went through, so the decision is repeated at once with the live
 * object. The limit is below the shortest timeout of an activity: a failure then names the conflict, and Temporal retries.
 */
const conflictsMs = 7000
/** Longest wait between later attempts. It is random, so that writers that met do not meet again. */
const longestPauseMs = 100

const never = new AbortController().signal

/** Writes optimistically. Returns the object as it is afterwards; undefined when it is gone. */
export function writeOptimistically<T>({
  inTurn = (section) => section(),
  ...access
}: Access<T>): Promise<T | undefined> {
  return inTurn(() => writeUntilWon(access))
}

async function writeUntilWon<T>({ cached, live, write }: Omit<Access<T>, 'inTurn'>): Promise<T | undefined> {
  const giveUpAt = performance.now() + conflictsMs
  let object = cached() ?? (await live())
  for (let attempt = 1; object !== undefined; attempt++) {
    try {
      return await (write(object) ?? object)
    } catch (error) {
      if (isNotFound(error)) return undefined
      if (!isConflict(error) || performance.now() > giveUpAt) throw error
    }
    // The first conflict mostly comes from a lagging cache; waiting gains nothing.
    if (attempt > 1) await pauseFor(Math.random() * Math.min(longestPauseMs, 2 ** attempt), never)
    object = await live()
  }
  return undefined
}

/** Returns a merge patch that applies only to the same object, and only in the version that it was decided from. */
export function lockedPatch(
  patch: Readonly<Record<string, unknown>>,
  { resourceVersion, uid }: { readonly resourceVersion: string; readonly uid: string },
): Record<string, unknown> {
  const metadata = (patch['metadata'] ?? {}) as Record<string, unknown>
  return { ...patch, metadata: { ...metadata, resourceVersion, uid } }
}

/**
 * Returns a merge patch with the lock it needs. A patch of maps leaves other writers' entries, so the UID is lock enough. One that holds a
 * list replaces the list, so it must come from the latest object.
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
