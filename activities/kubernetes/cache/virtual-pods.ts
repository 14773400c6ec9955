import type { Pod } from '../../../core/objects.ts'

/** A virtual pod as it is now; undefined when it is gone. */
type Listener = (key: string, pod: Pod | undefined) => void

/**
 * Pods that exist only in plans, by namespace and name. Their names hold a colon, which no pod's name does: neither can stand for the other. They are
 * in no index of the cache, and no watch of pods reports them.
 */
export class VirtualPods {
  readonly #listeners = new Set<Listener>()
  #pods: ReadonlyMap<string, Pod> = new Map()

  get(key: string): Pod | undefined {
    return this.#pods.get(key)
  }

  values(): Iterable<Pod> {
    return this.#pods.values()
  }

  get size(): number {
    return this.#pods.size
  }

  /** Calls the listener for each pod that comes, changes or goes. Returns the function that removes it. */
  onChange(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Replaces all pods. Returns whether any is another. */
  replace(pods: ReadonlyMap<string, Pod>): boolean {
    const before = this.#pods
    this.#pods = pods
    const gone = [...before.keys()].filter((key) => !pods.has(key))
    const other = [...pods].filter(([key, pod]) => before.get(key) !== pod)
    for (const listener of this.#listeners) {
      for (const key of gone) listener(key, undefined)
      for (const [key, pod] of other) listener(key, pod)
    }
    return gone.length > 0 || other.length > 0
  }
}
