import type { ObjectMeta } from '../../../core/objects.ts'

/** Objects with more characters are not read again by lists. */
const largeFrom = 256 * 2 ** 10
/** So many names fit into the address of a request. */
const mostNames = 100

/** The largest objects of each kind, by what watches and lists showed of them. */
export class LargeObjects {
  readonly #names = new Map<string, Map<string, string>>()

  /** Notes how many characters an object has; 0 when it is gone. */
  note(kind: string, { uid, name }: Pick<ObjectMeta, 'uid' | 'name'>, size: number): void {
    const own = this.#names.get(kind) ?? new Map<string, string>()
    if (size < largeFrom) own.delete(uid)
    else own.set(uid, name)
    this.#names.set(kind, own)
  }

  /** Names of large objects, in whatever namespaces. */
  names(kind: string): ReadonlySet<string> {
    return new Set([...new Set(this.#names.get(kind)?.values())].slice(0, mostNames))
  }
}

/** A field selector that leaves these names out of a list; undefined: none. */
export function withoutNames(names: ReadonlySet<string>): string | undefined {
  return names.size === 0 ? undefined : [...names].map((name) => `metadata.name!=${name}`).join(',')
}
