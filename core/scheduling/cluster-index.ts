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
  hasToMove,
  inRuleOrder,
  type MoveMoment,
  namespaceLabels,
  namespaceOf,
  poolOptions,
  preparedPods,
  type SnapshotSettings,
  storageOf,
} from './cluster.ts'
import { IndexedPods, RunningDaemonSets } from './cluster-index/pods.ts'
import type { SchedulableNode, SchedulingSnapshot } from './snapshot.ts'
import {
  type ClusterState,
  isBeingEmptied,
  isInterrupted,
  isPlace,
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

/** The cluster that disruption decides on, beside what placement uses. */
export interface DisruptionSource {
  readonly nodes: readonly StateNode[]
  readonly podsOn: (node: string) => readonly Pod[]
  readonly nodePools: readonly NodePool[]
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[]
  readonly snapshot: SchedulingSnapshot
  /** Prepares pods that have to move in the form that the scheduler takes. */
  readonly prepare: (pods: readonly Pod[]) => Pick<SchedulingSnapshot, 'pods' | 'podVolumes' | 'ignored'>
}

/**
 * The cluster for the scheduler, updated with each change, so that a pass copies nothing unchanged. A snapshot equals the one that
 * `schedulingSnapshot` makes of the same objects. Unchanged places are the same objects as in the previous snapshot.
 */
export class ClusterIndex {
  readonly #objects = Object.fromEntries(kinds.map((kind) => [kind, new Map()])) as {
    readonly [Kind in IndexedKind]: Map<string, IndexedObjects[Kind]>
  }
  readonly #pods = new IndexedPods()
  readonly #places = new MadePlaces()
  readonly #daemonSets = new RunningDaemonSets()
  #storage: Storage | undefined
  #storageChanged = true
  #csiNodes: readonly CsiNode[] = []
  /** The same list while nothing changes: pods' lookups in it are cached by it. */
  #budgets: readonly PodDisruptionBudget[] = []

  /** Adds or removes an object. `key` is its namespace and name; a PodController's kind comes first, since there are several. */
  apply<Kind extends IndexedKind>(kind: Kind, key: string, object: IndexedObjects[Kind] | undefined): void {
    const store = this.#objects[kind] as Map<string, IndexedObjects[Kind]>
    const before = store.get(key)
    if (object === undefined) store.delete(key)
    else store.set(key, object)
    if (kind === 'Pod') {
      if (this.#pods.changed(key, before as Pod | undefined, object as Pod | undefined)) this.#daemonSets.changed()
    } else if (kind === 'DaemonSet') this.#daemonSets.changed()
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
    const pods = preparedPods(candidates, this.#podContext(candidates, storage, settings), settings)
    const state = this.#state(storage, instanceTypes)
    return {
      ...pods,
      nodes: this.#places.of(known, state, (name) => this.#pods.on(name)),
      occupied: occupiedNodes({ ...state, podsByNode: this.#podsWithout(candidates) }, known),
      nodePools: poolOptions(
        { nodePools: [...this.#objects.NodePool.values()].filter(isUsable), instanceTypes },
        known,
      ),
      daemonSets: state.daemonSets,
      namespaceLabels: namespaceLabels([...this.#objects.Namespace.values()], this.#pods.namespaces),
    }
  }

  /** Returns the present cluster for disruption. It is valid until the next change. */
  source(
    instanceTypes: ReadonlyMap<string, readonly InstanceType[]>,
    settings: SnapshotSettings,
    isUsable?: (pool: NodePool) => boolean,
  ): DisruptionSource {
    const storage = this.#currentStorage()
    return {
      nodes: stateNodes(this.#nodesAndClaims()),
      podsOn: (node) => this.#pods.on(node),
      nodePools: [...this.#objects.NodePool.values()],
      podDisruptionBudgets: this.#budgets,
      snapshot: this.snapshot(instanceTypes, settings, isUsable),
      prepare: (pods) => preparedPods(pods, this.#podContext(pods, storage, settings), settings),
    }
  }

  #nodesAndClaims() {
    return { nodes: [...this.#objects.Node.values()], nodeClaims: [...this.#objects.NodeClaim.values()] }
  }

  #candidates(known: readonly StateNode[], now: number): readonly Pod[] {
    const moving = known.flatMap(({ node, claim }) =>
      node === undefined || !isBeingEmptied(claim, node)
        ? []
        : this.#leaving(node, { budgets: this.#budgets, now, isInterrupted: isInterrupted(claim, node) }),
    )
    return inRuleOrder([...this.#pods.pending, ...moving])
  }

  /** Returns pods of a terminating node that need another place and are not pending already. */
  #leaving({ metadata }: Node, moment: MoveMoment): readonly Pod[] {
    return this.#pods.on(metadata.name).filter((pod) => !isProvisionable(pod) && hasToMove(pod, moment))
  }

  /** A cluster has many controllers, and for default spread each pod searches them for its own. */
  #podContext(candidates: readonly Pod[], storage: Storage | undefined, { defaultSpread = [] }: SnapshotSettings) {
    const pods = this.#objects.Pod.values()
    if (defaultSpread.length === 0) return { pods, storage }
    const controllers = new Set<PodController>()
    for (const pod of candidates) {
      const owner = pod.metadata.ownerReferences.find(({ controller }) => controller === true)
      const found = this.#objects.PodController.get(`${owner?.kind}/${namespaceOf(pod)}/${owner?.name}`)
      if (found !== undefined) controllers.add(found)
    }
    return { pods, storage, services: [...this.#objects.Service.values()], controllers: [...controllers] }
  }

  #state(storage: Storage | undefined, instanceTypes: NonNullable<ClusterState['instanceTypes']>): ClusterState {
    return {
      ...this.#nodesAndClaims(),
      podsByNode: { get: (name) => this.#pods.on(name) },
      daemonSets: this.#daemonSets.of(this.#objects.DaemonSet.values(), (uid) => this.#pods.ofOwner(uid)),
      storage,
      csiNodes: this.#csiNodes,
      instanceTypes,
    }
  }

  /** Returns pods by node without those that are to be placed elsewhere. */
  #podsWithout(candidates: readonly Pod[]): ClusterState['podsByNode'] {
    const moving = new Set(candidates)
    return { get: (name) => this.#pods.on(name).filter((pod) => !moving.has(pod)) }
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
}

/** Everything that a place is made from. */
interface Parts {
  readonly one: StateNode
  readonly nodePods: readonly Pod[]
  readonly claimPods: readonly Pod[]
  /** Inputs that all places share. */
  readonly common: readonly unknown[]
}

interface MadePlace extends Parts {
  readonly place: SchedulableNode
}

const noPods: readonly Pod[] = []

/** Places of the last snapshot: an unchanged one is the same object again. */
class MadePlaces {
  /** By the Node, or by the claim of a node that has not joined. */
  #made = new Map<Node | NodeClaim | undefined, MadePlace>()

  /** Returns the places of these nodes, in their order. `podsOn`: returns the same list while its pods are unchanged. */
  of(
    known: readonly StateNode[],
    state: ClusterState,
    podsOn: (name: string) => readonly Pod[],
  ): readonly SchedulableNode[] {
    const common = [state.daemonSets, state.storage, state.csiNodes, state.instanceTypes]
    const podsOf = (named: Node | NodeClaim | undefined) => (named === undefined ? noPods : podsOn(named.metadata.name))
    const before = this.#made
    const places: SchedulableNode[] = []
    this.#made = new Map()
    for (const one of known) {
      if (!isPlace(one)) continue
      const named = one.node ?? one.claim
      const parts = { one, nodePods: podsOf(one.node), claimPods: podsOf(one.claim), common }
      let made = before.get(named)
      if (made === undefined || !isSame(made, parts)) made = { ...parts, place: schedulable(one, state) }
      this.#made.set(named, made)
      places.push(made.place)
    }
    return places
  }
}

function isSame(made: MadePlace, { one, nodePods, claimPods, common }: Parts): boolean {
  return (
    made.one.node === one.node &&
    made.one.claim === one.claim &&
    made.nodePods === nodePods &&
    made.claimPods === claimPods &&
    common.every((value, at) => value === made.common[at])
  )
}
