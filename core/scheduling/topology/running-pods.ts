import type { Pod } from '../../objects.ts'

/** A node with its pods, by its name. An unchanged pod is the same object. */
export interface Inhabited {
  readonly name: string
  readonly pods: readonly Pod[]
}

/** Running pods of one namespace with the same labels, counted by the names of their nodes. */
export interface RunningClass {
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly nodes: ReadonlyMap<string, number>
}

/**
 * Running pods by namespace and labels. Only pods that changed are updated from one pass to the next, since most of a large cluster does not change.
 */
export class RunningPods {
  readonly #classes = new Map<string, RunningClass & { readonly nodes: Map<string, number> }>()
  readonly #pods = new Map<string, readonly Pod[]>()
  readonly #keys = new WeakMap<Pod, string>()
  /** Nodes of the last query. */
  #last: ReadonlyMap<string, Inhabited> | undefined

  on(nodes: ReadonlyMap<string, Inhabited>): ReadonlyMap<string, RunningClass> {
    if (nodes === this.#last) return this.#classes
    this.#last = nodes
    for (const { name, pods } of nodes.values()) this.#bring(name, pods)
    if (this.#pods.size > nodes.size) for (const name of this.#pods.keys()) if (!nodes.has(name)) this.#bring(name, [])
    return this.#classes
  }

  #bring(name: string, pods: readonly Pod[]): void {
    const before = this.#pods.get(name) ?? []
    if (before === pods) return
    if (pods.length === 0) this.#pods.delete(name)
    else this.#pods.set(name, pods)
    const staying = new Set(pods)
    for (const pod of before) if (!staying.delete(pod)) this.#count(pod, name, -1)
    for (const pod of staying) this.#count(pod, name, 1)
  }

  #count(pod: Pod, node: string, by: 1 | -1): void {
    if (pod.metadata.deletionTimestamp !== undefined) return
    const key = this.keyOf(pod)
    const { namespace = 'default', labels } = pod.metadata
    const own = this.#classes.get(key) ?? { namespace, labels, nodes: new Map<string, number>() }
    const count = (own.nodes.get(node) ?? 0) + by
    if (count > 0) own.nodes.set(node, count)
    else own.nodes.delete(node)
    if (own.nodes.size > 0) this.#classes.set(key, own)
    else this.#classes.delete(key)
  }

  keyOf(pod: Pod): string {
    let key = this.#keys.get(pod)
    if (key === undefined) {
      key = labelKey(pod)
      this.#keys.set(pod, key)
    }
    return key
  }
}

/** Returns the same text for pods of one namespace with the same labels. */
export function labelKey({ metadata: { namespace = 'default', labels } }: Pod): string {
  return `${namespace}\u0000${JSON.stringify(labels)}`
}
