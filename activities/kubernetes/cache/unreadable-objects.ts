import type { Logger } from 'pino'
import type { ObjectMeta } from '../../../core/objects.ts'
import type { CachedKind } from './cached-kinds.ts'
import { keyOf } from './object-key.ts'

/** Most unreadable objects that are remembered, so that each is logged once. */
const mostReported = 10_000

/** Logs unreadable objects, each version once: lists bring them again and again. */
export class UnreadableObjects {
  readonly #log: Logger
  /** Versions by kind and key. */
  readonly #reported = new Map<string, string>()

  constructor(log: Logger) {
    this.#log = log
  }

  report(kind: CachedKind, meta: ObjectMeta, error: unknown): void {
    const key = keyOf(meta)
    const version = `${meta.uid}/${meta.resourceVersion}`
    if (this.#reported.get(`${kind}/${key}`) === version) return
    if (this.#reported.size >= mostReported) this.#reported.clear()
    this.#reported.set(`${kind}/${key}`, version)
    this.#log.error(
      { kind, object: key, err: error },
      'failed to decode object; correct the value that the error names',
    )
  }
}

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
