import type { InstanceType } from '../instance-type.ts'
import type { Node, NodeClaim, NodePool, Pod, PodDisruptionBudget } from '../objects.ts'
import { isProvisionable } from '../pods/pod-rules.ts'
import type {
  CsiNode,
  DaemonSet,
  Namespace,
  PersistentVolume,
  PersistentVolumeClaim,
  PodController,
  Service,
  StorageClass,
} from '../pods/related-objects.ts'
import {
  asItRuns,
  byName,
  type ClusterObjects,
  hasToMove,
  inRuleOrder,
  namespaceLabels,
  namespaceOf,
  poolOptions,
  preparedPods,
  type SnapshotSettings,
  storageOf,
} from './cluster.ts'
import type { SchedulableNode, SchedulingSnapshot } from './snapshot.ts'
import {
  type ClusterState,
  isInterrupted,
  isLeaving,
  occupiedNodes,
  type StateNode,
  schedulable,
  stateNodes,
} from './state-nodes.ts'
import type { Storage } from './volumes.ts'

export interface IndexedObjects {
  readonly Pod: Pod
  readonly Node: Node
  readonly NodeClaim: NodeClaim
  readonly NodePool: NodePool
  readonly DaemonSet: DaemonSet
  readonly PodDisruptionBudget: PodDisruptionBudget
  readonly Namespace: Namespace
  readonly Service: Service
  readonly PodController: PodController
  readonly PersistentVolumeClaim: PersistentVolumeClaim
  readonly PersistentVolume: PersistentVolume
  readonly StorageClass: StorageClass
  readonly CSINode: CsiNode
}
export type IndexedKind = keyof IndexedObjects

const kinds: readonly IndexedKind[] = [
  'Pod',
  'Node',
  'NodeClaim',
  'NodePool',
  'DaemonSet',
  'PodDisruptionBudget',
  'Namespace',
  'Service',
  'PodController',
  'PersistentVolumeClaim',
  'PersistentVolume',
  'StorageClass',
  'CSINode',
]

/** What disruption decides on beside what placement looks at. */
export interface DisruptionSource {
  readonly nodes: readonly StateNode[]
  /** Bound pods of a Node. */
  readonly podsOn: (node: string) => readonly Pod[]
  readonly nodePools: readonly NodePool[]
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[]
  readonly snapshot: SchedulingSnapshot
  /** Pods that have to move, as the scheduler takes them. */
  readonly prepare: (pods: readonly Pod[]) => Pick<SchedulingSnapshot, 'pods' | 'podVolumes' | 'ignored'>
}

/** A place with all that it was made of. */
interface MadePlace {
  readonly one: StateNode
  readonly nodePods: readonly Pod[]
  readonly claimPods: readonly Pod[]
  readonly common: readonly unknown[]
  readonly place: SchedulableNode
}

const noPods: readonly Pod[] = []

/**
 * The cluster as the scheduler sees it, kept up to date change by change, so that a pass copies nothing that did not change. A snapshot
 * is the one that `schedulingSnapshot` would make of the same objects; places of which nothing changed are the very same objects as in
 * the snapshot before.
 */
export class ClusterIndex {
  readonly #objects = Object.fromEntries(kinds.map((kind) => [kind, new Map()])) as {
    readonly [Kind in IndexedKind]: Map<string, IndexedObjects[Kind]>
  }
  readonly #pending = new Map<string, Pod>()
  readonly #podsByNode = new Map<string, Map<string, Pod>>()
  /** Pods of a node in order; made anew after a change. */
  readonly #podLists = new Map<string, readonly Pod[]>()
  readonly #podsByOwner = new Map<string, Map<string, Pod>>()
  readonly #namespaces = new Map<string, number>()
  /** By the Node, or by the claim of a node that has not joined. */
  #places = new Map<Node | NodeClaim | undefined, MadePlace>()
  #daemonSets: readonly DaemonSet[] = []
  #daemonsChanged = true
  #storage: Storage | undefined
  #storageChanged = true
  #csiNodes: readonly CsiNode[] = []
  /** The same list as long as nothing changed: what pods look up in it is remembered by it. */
  #budgets: readonly PodDisruptionBudget[] = []

  /** Enters an object, or takes one out. `key` is its namespace and name; before a PodController's stands its kind, since there are several. */
  apply<Kind extends IndexedKind>(kind: Kind, key: string, object: IndexedObjects[Kind] | undefined): void {
    const store = this.#objects[kind] as Map<string, IndexedObjects[Kind]>
    const before = store.get(key)
    if (object === undefined) store.delete(key)
    else store.set(key, object)
    if (kind === 'Pod') this.#podChanged(key, before as Pod | undefined, object as Pod | undefined)
    else if (kind === 'DaemonSet') this.#daemonsChanged = true
    else if (kind === 'PersistentVolumeClaim' || kind === 'PersistentVolume' || kind === 'StorageClass')
      this.#storageChanged = true
    else if (kind === 'PodDisruptionBudget') this.#budgets = [...this.#objects.PodDisruptionBudget.values()]
    else if (kind === 'CSINode') this.#csiNodes = [...this.#objects.CSINode.values()]
  }

  /** Everything that a placement depends on, as it is now. */
  snapshot(
    instanceTypes: ReadonlyMap<string, readonly InstanceType[]>,
    settings: SnapshotSettings,
    isUsable: (pool: NodePool) => boolean = () => true,
  ): SchedulingSnapshot {
    const known = stateNodes(this.#nodesAndClaims())
    const candidates = this.#candidates(known, settings.now)
    const storage = this.#currentStorage()
    const pods = preparedPods(candidates, this.#podContext(candidates, settings), storage, settings)
    const state = this.#state(storage, instanceTypes)
    return {
      ...pods,
      nodes: this.#schedulable(known, state),
      occupied: occupiedNodes({ ...state, podsByNode: this.#podsWithout(candidates) }, known),
      nodePools: poolOptions(
        { nodePools: [...this.#objects.NodePool.values()].filter(isUsable), instanceTypes },
        known,
      ),
      daemonSets: state.daemonSets,
      namespaceLabels: namespaceLabels([...this.#objects.Namespace.values()], this.#namespaces.keys()),
    }
  }

  /** The cluster as disruption looks at it, as it is now. It holds until the next change is entered. */
  source(
    instanceTypes: ReadonlyMap<string, readonly InstanceType[]>,
    settings: SnapshotSettings,
    isUsable?: (pool: NodePool) => boolean,
  ): DisruptionSource {
    const storage = this.#currentStorage()
    return {
      nodes: stateNodes(this.#nodesAndClaims()),
      podsOn: (node) => this.#podsOn(node),
      nodePools: [...this.#objects.NodePool.values()],
      podDisruptionBudgets: this.#budgets,
      snapshot: this.snapshot(instanceTypes, settings, isUsable),
      prepare: (pods) => preparedPods(pods, this.#podContext(pods, settings), storage, settings),
    }
  }

  #nodesAndClaims() {
    return { nodes: [...this.#objects.Node.values()], nodeClaims: [...this.#objects.NodeClaim.values()] }
  }

  #candidates(known: readonly StateNode[], now: number): readonly Pod[] {
    const moving = known.flatMap(({ node, claim }) =>
      node === undefined || !isLeaving(claim, node)
        ? []
        : this.#podsOf(node).filter(
            (pod) => !isProvisionable(pod) && hasToMove(pod, this.#budgets, now, isInterrupted(claim, node)),
          ),
    )
    return inRuleOrder([...this.#pending.values(), ...moving])
  }

  /** What default spread goes by. A cluster has many controllers, and each pod looks for its own among them. */
  #podContext(candidates: readonly Pod[], { defaultSpread = [] }: SnapshotSettings) {
    if (defaultSpread.length === 0) return {}
    const controllers = new Set<PodController>()
    for (const pod of candidates) {
      const owner = pod.metadata.ownerReferences.find(({ controller }) => controller === true)
      const found = this.#objects.PodController.get(`${owner?.kind}/${namespaceOf(pod)}/${owner?.name}`)
      if (found !== undefined) controllers.add(found)
    }
    return { services: [...this.#objects.Service.values()], controllers: [...controllers] }
  }

  #state(storage: Storage | undefined, instanceTypes: NonNullable<ClusterState['instanceTypes']>): ClusterState {
    return {
      ...this.#nodesAndClaims(),
      podsByNode: { get: (name) => this.#podsOn(name) },
      daemonSets: this.#currentDaemonSets(),
      storage,
      csiNodes: this.#csiNodes,
      instanceTypes,
    }
  }

  /** Places in the order of their names, those of which nothing changed as they were. */
  #schedulable(known: readonly StateNode[], state: ClusterState): readonly SchedulableNode[] {
    const common = [state.daemonSets, state.storage, state.csiNodes, state.instanceTypes]
    const before = this.#places
    const places: SchedulableNode[] = []
    this.#places = new Map()
    for (const one of known) {
      if (isLeaving(one.claim, one.node)) continue
      const named = one.node ?? one.claim
      const pods = { nodePods: this.#podsOf(one.node), claimPods: this.#podsOf(one.claim) }
      let made = before.get(named)
      if (made === undefined || !isSame(made, one, pods, common))
        made = { one, ...pods, common, place: schedulable(one, state) }
      this.#places.set(named, made)
      places.push(made.place)
    }
    return places
  }

  #podsOf(named: Node | NodeClaim | undefined): readonly Pod[] {
    return named === undefined ? noPods : this.#podsOn(named.metadata.name)
  }

  /** In order of their names, so that nothing depends on the order of changes. */
  #podsOn(name: string): readonly Pod[] {
    const known = this.#podLists.get(name)
    if (known !== undefined) return known
    const own = this.#podsByNode.get(name)
    if (own === undefined) return noPods
    const listed = [...own].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pod]) => pod)
    this.#podLists.set(name, listed)
    return listed
  }

  /** Pods by node without those that are to be placed elsewhere. */
  #podsWithout(candidates: readonly Pod[]): ClusterState['podsByNode'] {
    const moving = new Set(candidates)
    return { get: (name) => this.#podsOn(name).filter((pod) => !moving.has(pod)) }
  }

  #currentStorage(): Storage | undefined {
    if (this.#storageChanged) {
      this.#storageChanged = false
      this.#storage = storageOf({
        persistentVolumeClaims: [...this.#objects.PersistentVolumeClaim.values()],
        persistentVolumes: [...this.#objects.PersistentVolume.values()],
        storageClasses: [...this.#objects.StorageClass.values()],
      })
    }
    return this.#storage
  }

  /** DaemonSets as they run. Which of their pods is the newest changes all the time; what it is like seldom does. */
  #currentDaemonSets(): readonly DaemonSet[] {
    if (!this.#daemonsChanged) return this.#daemonSets
    this.#daemonsChanged = false
    const sets = [...this.#objects.DaemonSet.values()].map((set) =>
      asItRuns(set, [...(this.#podsByOwner.get(set.metadata.uid)?.values() ?? [])]),
    )
    const sorted = sets.sort(byName)
    if (JSON.stringify(sorted.map(likeness)) !== JSON.stringify(this.#daemonSets.map(likeness)))
      this.#daemonSets = sorted
    return this.#daemonSets
  }

  #podChanged(key: string, before: Pod | undefined, after: Pod | undefined): void {
    if (after !== undefined && isProvisionable(after)) this.#pending.set(key, after)
    else this.#pending.delete(key)
    this.#countNamespace(before, -1)
    this.#countNamespace(after, 1)
    moveEntry(this.#podsByNode, key, before?.nodeName, after?.nodeName, after)
    for (const name of [before?.nodeName, after?.nodeName]) if (name !== undefined) this.#podLists.delete(name)
    const owner = daemonOwner(after) ?? daemonOwner(before)
    if (owner === undefined) return
    moveEntry(this.#podsByOwner, key, daemonOwner(before), daemonOwner(after), after)
    this.#daemonsChanged = true
  }

  #countNamespace(pod: Pod | undefined, by: 1 | -1): void {
    if (pod === undefined) return
    const name = namespaceOf(pod)
    const count = (this.#namespaces.get(name) ?? 0) + by
    if (count === 0) this.#namespaces.delete(name)
    else this.#namespaces.set(name, count)
  }
}

function isSame(
  made: MadePlace,
  { node, claim }: StateNode,
  { nodePods, claimPods }: Pick<MadePlace, 'nodePods' | 'claimPods'>,
  common: MadePlace['common'],
): boolean {
  return (
    made.one.node === node &&
    made.one.claim === claim &&
    made.nodePods === nodePods &&
    made.claimPods === claimPods &&
    common.every((value, at) => value === made.common[at])
  )
}

/** Takes an entry out of one group and puts it into another; either may be none. */
function moveEntry(
  groups: Map<string, Map<string, Pod>>,
  key: string,
  from: string | undefined,
  to: string | undefined,
  pod: Pod | undefined,
): void {
  if (from !== undefined && from !== to) {
    const group = groups.get(from)
    group?.delete(key)
    if (group?.size === 0) groups.delete(from)
  }
  if (to === undefined) return
  const group = groups.get(to) ?? new Map<string, Pod>()
  groups.set(to, group)
  if (pod === undefined) group.delete(key)
  else group.set(key, pod)
}

function daemonOwner(pod: Pod | undefined): string | undefined {
  return pod?.metadata.ownerReferences.find(({ controller, kind }) => controller === true && kind === 'DaemonSet')?.uid
}

/** What of a DaemonSet matters for placement, as JSON can hold it. */
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

/** An index of all objects of a cluster at once. */
export function indexOf(cluster: Omit<ClusterObjects, 'instanceTypes'>): ClusterIndex {
  const index = new ClusterIndex()
  const enter = <Kind extends IndexedKind>(kind: Kind, objects: readonly IndexedObjects[Kind][] = []) => {
    for (const object of objects) {
      const { namespace, name } = object.metadata
      const key = namespace === undefined ? name : `${namespace}/${name}`
      index.apply(kind, kind === 'PodController' ? `${object.kind}/${key}` : key, object)
    }
  }
  enter('Node', cluster.nodes)
  enter('NodeClaim', cluster.nodeClaims)
  enter('NodePool', cluster.nodePools)
  enter('DaemonSet', cluster.daemonSets)
  enter('PodDisruptionBudget', cluster.podDisruptionBudgets)
  enter('Namespace', cluster.namespaces)
  enter('Service', cluster.services)
  enter('PodController', cluster.controllers)
  enter('PersistentVolumeClaim', cluster.persistentVolumeClaims)
  enter('PersistentVolume', cluster.persistentVolumes)
  enter('StorageClass', cluster.storageClasses)
  enter('CSINode', cluster.csiNodes)
  enter('Pod', cluster.pods)
  return index
}
