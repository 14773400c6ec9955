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
