import type { ObjectMeta } from '../../../core/objects.ts'

/** Number of characters above which lists do not read an object again. */
const largeFrom = 256 * 2 ** 10
/** Most names that fit into the address of a request. */
const mostNames = 100

/** Records the largest objects of each kind, as watches and lists showed them. */
export class LargeObjects {
  readonly #names = new Map<string, Map<string, string>>()

  /** Records how many characters an object has; 0 when it is gone. */
  note(kind: string, { uid, name }: Pick<ObjectMeta, 'uid' | 'name'>, size: number): void {
    const own = this.#names.get(kind) ?? new Map<string, string>()
    if (size < largeFrom) own.delete(uid)
    else own.set(uid, name)
    this.#names.set(kind, own)
  }

  /** Returns names of large objects, in whatever namespaces. */
  names(kind: string): ReadonlySet<string> {
    return new Set([...new Set(this.#names.get(kind)?.values())].slice(0, mostNames))
  }
}

/** Returns a field selector that excludes these names from a list; undefined for none. */
export function withoutNames(names: ReadonlySet<string>): string | undefined {
  return names.size === 0 ? undefined : [...names].map((name) => `metadata.name!=${name}`).join(',')
}
