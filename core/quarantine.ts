/** The longest time for which an object is left out. */
export const quarantineMs = 60 * 60_000
/** How far ahead of this process' clock that of another may be: as far as clocks of machines differ. */
const mostAheadMs = 5 * 60_000
/** Entries that are kept; a ConfigMap takes 1 MiB. */
const mostEntries = 200
export const longestCause = 500

/** An object that is left out of planning because it crashed passes. */
export interface QuarantineEntry {
  /** Such as `Pod/default/web-1` or `StorageClass/fast`. */
  readonly id: string
  /** Fingerprint of the object's spec: the quarantine ends when it changes. Pods of one shape share it, and are left out together. */
  readonly hash: string
  readonly cause: string
  /** Epoch ms. */
  readonly sinceMs: number
  readonly untilMs: number
}

/** Entries by id, the oldest first. */
export type QuarantineEntries = ReadonlyMap<string, QuarantineEntry>

/** Returns the id of an object. `key`: its namespace and name, or its name alone. */
export function quarantineId(kind: string, key: string): string {
  return `${kind}/${key}`
}

/** Returns the kind of an entry's object, and its namespace and name, or its name alone. */
export function objectOf(id: string): { readonly kind: string; readonly key: string } {
  const slash = id.indexOf('/')
  return { kind: id.slice(0, slash), key: id.slice(slash + 1) }
}

/** Returns the entries with one more from `now` (epoch ms) on. Beyond the limit the oldest are dropped. */
export function withEntry(
  entries: QuarantineEntries,
  { id, hash, cause }: Pick<QuarantineEntry, 'id' | 'hash' | 'cause'>,
  now: number,
): QuarantineEntries {
  const others = [...entries].filter(([other]) => other !== id).slice(1 - mostEntries)
  const entry = { id, hash, cause: cause.slice(0, longestCause), sinceMs: now, untilMs: now + quarantineMs }
  return new Map([...others, [id, entry]])
}

/**
 * Returns the entries that still hold. `hashOf`: the present fingerprint of an object, undefined when it is gone. A pod that is gone may have been
 * created again under another name. One that ends later than any that begins now is of a clock that was wrong.
 */
export function inForce(
  entries: QuarantineEntries,
  hashOf: (id: string) => string | undefined,
  now: number,
): QuarantineEntries {
  return new Map(
    [...entries].filter(([id, { hash, untilMs }]) => {
      const current = hashOf(id)
      const holds = untilMs > now && untilMs - now <= quarantineMs + mostAheadMs
      return holds && (current === undefined ? objectOf(id).kind === 'Pod' : current === hash)
    }),
  )
}

/** Counts crashes by object: the second crash with the same spec leads to quarantine. */
export class CrashCounts {
  readonly #hashes = new Map<string, string>()

  /** Records that an object crashed a pass. Returns whether it did so before. */
  add(id: string, hash: string): boolean {
    if (this.#hashes.get(id) === hash) {
      this.#hashes.delete(id)
      return true
    }
    if (this.#hashes.size >= mostEntries) this.#hashes.clear()
    this.#hashes.set(id, hash)
    return false
  }
}
