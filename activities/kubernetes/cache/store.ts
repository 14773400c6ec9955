import type { ObjectMeta } from '../../../core/objects.ts'

type Indexers<T> = Readonly<Record<string, (object: T) => string | undefined>>

/** Most deletions that are remembered against late events. */
const rememberedDeletions = 10_000

/** Objects of one kind by key, with indexes. Versions are compared as whole numbers, which Kubernetes 1.35 guarantees. */
export class Store<T extends { readonly metadata: ObjectMeta }> {
  readonly #objects = new Map<string, T>()
  readonly #indexes = new Map<string, Map<string, Map<string, T>>>()
  readonly #indexers: Indexers<T>
  readonly #deleted = new Map<string, bigint>()
  #reached = 0n

  constructor(indexers: Indexers<T> = {}) {
    this.#indexers = indexers
    for (const name of Object.keys(indexers)) this.#indexes.set(name, new Map())
  }

  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  values(): Iterable<T> {
    return this.#objects.values()
  }

  get size(): number {
    return this.#objects.size
  }

  /** Returns the objects with this value in an index. */
  by(index: string, value: string): readonly T[] {
    return [...(this.#indexes.get(index)?.get(value)?.values() ?? [])]
  }

  /** Returns whether an object is newer than the stored one, and not known to be deleted. */
  admits(key: string, meta: Pick<ObjectMeta, 'uid' | 'resourceVersion'>): boolean {
    const version = BigInt(meta.resourceVersion)
    const deletedAt = this.#deleted.get(`${key}/${meta.uid}`)
    if (deletedAt !== undefined && version <= deletedAt) return false
    const stored = this.#objects.get(key)
    return stored === undefined || BigInt(stored.metadata.resourceVersion) < version
  }

  /** Enters an object. Errors: an index fails on it; then nothing has changed. */
  set(key: string, object: T): void {
    const values = Object.entries(this.#indexers).map(([name, indexer]) => [name, indexer(object)] as const)
    this.#unindex(key)
    this.#objects.set(key, object)
    for (const [name, value] of values) {
      if (value === undefined) continue
      const index = this.#indexes.get(name) as Map<string, Map<string, T>>
      const entries = index.get(value) ?? new Map<string, T>()
      index.set(value, entries)
      entries.set(key, object)
    }
  }

  delete(key: string, meta: Pick<ObjectMeta, 'uid'>, resourceVersion: string): void {
    this.#deleted.set(`${key}/${meta.uid}`, BigInt(resourceVersion))
    if (this.#deleted.size > rememberedDeletions) this.#deleted.delete(this.#deleted.keys().next().value as string)
    if (this.#objects.get(key)?.metadata.uid !== meta.uid) return
    this.#unindex(key)
    this.#objects.delete(key)
  }

  /** Objects whose version is at most `resourceVersion`. */
  olderThan(resourceVersion: string): readonly (readonly [string, T])[] {
    const version = BigInt(resourceVersion)
    return [...this.#objects].filter(([, object]) => BigInt(object.metadata.resourceVersion) <= version)
  }

  /** Records that everything up to a version has been reported. */
  reach(resourceVersion: string): void {
    const version = BigInt(resourceVersion)
    if (version > this.#reached) this.#reached = version
  }

  /** Returns whether everything up to a version has been reported. */
  reached(resourceVersion: string): boolean {
    return this.#reached >= BigInt(resourceVersion)
  }

  #unindex(key: string): void {
    const object = this.#objects.get(key)
    if (object === undefined) return
    for (const [name, indexer] of Object.entries(this.#indexers)) {
      const value = indexer(object)
      if (value !== undefined) this.#indexes.get(name)?.get(value)?.delete(key)
    }
  }
}
