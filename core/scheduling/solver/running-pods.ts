import type { Pod } from '../../objects.ts'

/** A node with pods; the same object as long as nothing of it changes. */
export interface Inhabited {
  readonly pods: readonly Pod[]
}

/** Running pods of one namespace with the same labels, counted by their nodes. */
export interface RunningClass {
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly nodes: ReadonlyMap<Inhabited, number>
}

/**
 * Running pods by what topology tells them apart by. It is brought from one pass to the next by what changed in between, since most nodes
 * of a large cluster do not.
 */
export class RunningPods {
  readonly #classes = new Map<string, RunningClass & { readonly nodes: Map<Inhabited, number> }>()
  #nodes = new Map<Inhabited, ReadonlyMap<string, number>>()
  readonly #keys = new WeakMap<Pod, string>()

  /** The classes of the pods on these nodes. */
  on(nodes: Iterable<Inhabited>): ReadonlyMap<string, RunningClass> {
    const before = this.#nodes
    this.#nodes = new Map()
    for (const node of nodes) {
      const known = before.get(node)
      this.#nodes.set(node, known ?? this.#enter(node))
    }
    for (const [node, keys] of before) if (!this.#nodes.has(node)) this.#leave(node, keys)
    return this.#classes
  }

  #enter(node: Inhabited): ReadonlyMap<string, number> {
    const keys = new Map<string, number>()
    for (const pod of node.pods) {
      if (pod.metadata.deletionTimestamp !== undefined) continue
      const { namespace = 'default', labels } = pod.metadata
      const key = this.#keyOf(pod)
      keys.set(key, (keys.get(key) ?? 0) + 1)
      let own = this.#classes.get(key)
      if (own === undefined) {
        own = { namespace, labels, nodes: new Map() }
        this.#classes.set(key, own)
      }
      own.nodes.set(node, (own.nodes.get(node) ?? 0) + 1)
    }
    return keys
  }

  #keyOf(pod: Pod): string {
    let key = this.#keys.get(pod)
    if (key === undefined) {
      key = labelKey(pod)
      this.#keys.set(pod, key)
    }
    return key
  }

  #leave(node: Inhabited, keys: ReadonlyMap<string, number>): void {
    for (const key of keys.keys()) {
      const own = this.#classes.get(key)
      own?.nodes.delete(node)
      if (own?.nodes.size === 0) this.#classes.delete(key)
    }
  }
}

/** The same text for pods of one namespace with the same labels. */
export function labelKey({ metadata: { namespace = 'default', labels } }: Pod): string {
  return `${namespace}\u0000${JSON.stringify(labels)}`
}
