import type { Pod } from '../../objects.ts'
import { isProvisionable } from '../../pods/pod-rules.ts'
import type { DaemonSet } from '../../pods/related-objects.ts'
import { asItRuns, byName, namespaceOf } from '../cluster.ts'

/** Pods by a name that each of them may have. */
type Groups = Map<string, Map<string, Pod>>

const noPods: readonly Pod[] = []

/** The pods of a cluster by the queries of a pass: pending ones, those of a node, those of a DaemonSet. */
export class IndexedPods {
  readonly #pending = new Map<string, Pod>()
  readonly #byNode: Groups = new Map()
  /** Pods of a node in order; built again after a change. */
  readonly #lists = new Map<string, readonly Pod[]>()
  readonly #byOwner: Groups = new Map()
  readonly #namespaces = new Map<string, number>()

  /** Pods that the scheduler could not place. */
  get pending(): Iterable<Pod> {
    return this.#pending.values()
  }

  /** Namespaces with any objects. */
  get namespaces(): Iterable<string> {
    return this.#namespaces.keys()
  }

  /** Adds, updates or removes a pod. Returns whether it belongs to a DaemonSet. */
  changed(key: string, before: Pod | undefined, after: Pod | undefined): boolean {
    if (after !== undefined && isProvisionable(after)) this.#pending.set(key, after)
    else this.#pending.delete(key)
    this.#countNamespace(before, -1)
    this.#countNamespace(after, 1)
    takeOut(this.#byNode, key, before?.nodeName)
    putIn(this.#byNode, after?.nodeName, [key, after])
    for (const name of [before?.nodeName, after?.nodeName]) if (name !== undefined) this.#lists.delete(name)
    const owners = [daemonOwner(before), daemonOwner(after)]
    takeOut(this.#byOwner, key, owners[0])
    putIn(this.#byOwner, owners[1], [key, after])
    return owners.some((owner) => owner !== undefined)
  }

  /** Returns pods of a node in order of their names, independent of the order of changes. The same list while none of them changes. */
  on(node: string): readonly Pod[] {
    const known = this.#lists.get(node)
    if (known !== undefined) return known
    const own = this.#byNode.get(node)
    if (own === undefined) return noPods
    const listed = [...own].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pod]) => pod)
    this.#lists.set(node, listed)
    return listed
  }

  /** Pods of a DaemonSet, by its UID. */
  ofOwner(uid: string): readonly Pod[] {
    return [...(this.#byOwner.get(uid)?.values() ?? [])]
  }

  #countNamespace(pod: Pod | undefined, by: 1 | -1): void {
    if (pod === undefined) return
    const name = namespaceOf(pod)
    const count = (this.#namespaces.get(name) ?? 0) + by
    if (count === 0) this.#namespaces.delete(name)
    else this.#namespaces.set(name, count)
  }
}

function takeOut(groups: Groups, key: string, from: string | undefined): void {
  if (from === undefined) return
  const group = groups.get(from)
  group?.delete(key)
  if (group?.size === 0) groups.delete(from)
}

function putIn(groups: Groups, into: string | undefined, [key, pod]: readonly [string, Pod | undefined]): void {
  if (into === undefined || pod === undefined) return
  const group = groups.get(into) ?? new Map<string, Pod>()
  groups.set(into, group)
  group.set(key, pod)
}

function daemonOwner(pod: Pod | undefined): string | undefined {
  return pod?.metadata.ownerReferences.find(({ controller, kind }) => controller === true && kind === 'DaemonSet')?.uid
}

/** DaemonSets as they run, in order. Their newest pods change all the time, but rarely in properties that matter. */
export class RunningDaemonSets {
  #current: readonly DaemonSet[] = []
  #isStale = true

  /** Records that a DaemonSet or one of its pods changed. */
  changed(): void {
    this.#isStale = true
  }

  /** Returns the same list while nothing changes that matters for placement. `podsOf`: by the UID of a DaemonSet. */
  of(all: Iterable<DaemonSet>, podsOf: (uid: string) => readonly Pod[]): readonly DaemonSet[] {
    if (!this.#isStale) return this.#current
    this.#isStale = false
    const sorted = [...all].map((set) => asItRuns(set, podsOf(set.metadata.uid))).sort(byName)
    if (JSON.stringify(sorted.map(likeness)) !== JSON.stringify(this.#current.map(likeness))) this.#current = sorted
    return this.#current
  }
}

/** Returns the parts of a DaemonSet that matter for placement, in JSON form. */
function likeness({ metadata, pod }: DaemonSet): unknown {
  return [
    metadata.uid,
    Object.entries(pod.requests).map(([name, { nano }]) => `${name}=${nano}`),
    pod.nodeSelector,
    pod.affinity,
    pod.tolerations,
    pod.hostPorts,
    pod.resourceClaims,
  ]
}
