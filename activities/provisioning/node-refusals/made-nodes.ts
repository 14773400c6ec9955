import { isTrue } from '../../../core/conditions.ts'
import { typeNamed } from '../../../core/instance-type.ts'
import type { Node, NodeClaim, Pod } from '../../../core/objects.ts'
import { isTerminal } from '../../../core/pods/pod-rules.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { type Resources, subtractResources } from '../../../core/resources.ts'
import { type MadeNode, podClassesOf } from '../../../core/scheduling/node-verdict.ts'
import { isLeaving } from '../../../core/scheduling/state-nodes.ts'
import { Storage } from '../../../core/scheduling/volumes.ts'
import { keyOf } from '../../kubernetes/cache/object-key.ts'
import { type CatalogueOfPools, instanceTypes } from '../../node-overlays/pool-types.ts'
import { podClass } from '../../scheduler-thread/pod-fingerprint.ts'

/** Time that a node has to come. */
const comingMs = 15 * 60_000
const selectedNode = 'volume.kubernetes.io/selected-node'

/** A node that pods were planned onto and that is up. */
export interface PlannedPlace {
  readonly node: Node
  /** Unset where it has no NodeClaim. */
  readonly claim: NodeClaim | undefined
  /** What the Node reports, less its pods. */
  readonly free: Resources
}

/** Nodes that were made for classes of pods, read from the cache once for a look at them. */
export class MadeNodes {
  readonly #deps: CatalogueOfPools
  #storage: Storage | undefined
  #byClass: ReadonlyMap<string, readonly NodeClaim[]> | undefined
  /** When a pod was last bound to a node that was made for its class, in epoch ms; and whether such a node is to come. */
  readonly #lastBound = new Map<string, number>()
  readonly #coming = new Map<string, boolean>()
  readonly #places = new Map<string, PlannedPlace | undefined>()

  constructor(deps: CatalogueOfPools) {
    this.#deps = deps
  }

  /** Returns the node of an initialized claim that is not leaving, with its pods; undefined when there is none. */
  nodeOf(claim: NodeClaim): MadeNode | undefined {
    const { cache } = this.#deps
    const { nodeName } = claim.status
    const node = nodeName === undefined ? undefined : cache.nodes.get(nodeName)
    if (node === undefined || isLeaving(claim, node) || !isTrue(claim.status.conditions, 'Initialized'))
      return undefined
    const { [labels.nodePool]: pool = '', [labels.instanceType]: type } = claim.metadata.labels
    return {
      claim,
      node,
      pods: cache.pods.by('byNode', node.metadata.name),
      type: typeNamed(instanceTypes(this.#deps).get(pool) ?? [], type),
      csiNode: cache.csiNodes.get(node.metadata.name),
      storage: this.#volumes,
    }
  }

  /** Returns the node that the target of a nomination is the name of; undefined while it is not up, and when it is leaving. */
  placeNamed(target: string): PlannedPlace | undefined {
    if (!this.#places.has(target)) this.#places.set(target, this.#placeNamed(target))
    return this.#places.get(target)
  }

  #placeNamed(target: string): PlannedPlace | undefined {
    const { cache } = this.#deps
    const claim = cache.nodeClaims.get(target)
    const node = cache.nodes.get(claim === undefined ? target : (claim.status.nodeName ?? ''))
    if (node === undefined || isLeaving(claim, node)) return undefined
    if (claim !== undefined && !isTrue(claim.status.conditions, 'Initialized')) return undefined
    const pods = cache.pods.by('byNode', node.metadata.name).filter((pod) => !isTerminal(pod))
    return { node, claim, free: subtractResources(node.allocatable, ...pods.map(({ requests }) => requests)) }
  }

  /** Returns the NodeClaims that were made for a class. */
  of(name: string): readonly NodeClaim[] {
    this.#byClass ??= claimsByClass(this.#deps.cache.nodeClaims.values())
    return this.#byClass.get(name) ?? []
  }

  /** Returns when the NodeClaims for a class were created, by name. */
  createdFor(name: string): Readonly<Record<string, number>> {
    return Object.fromEntries(
      this.of(name).map(({ metadata }) => [metadata.name, Date.parse(metadata.creationTimestamp)]),
    )
  }

  /** Whether a pod of the class was bound to a node that was made for it, at this time (epoch ms) or later. */
  hasBound(name: string, sinceMs: number): boolean {
    // Times of the API server have whole seconds.
    return this.#lastBoundAt(name) >= sinceMs - (sinceMs % 1000)
  }

  #lastBoundAt(name: string): number {
    const { cache } = this.#deps
    let last = this.#lastBound.get(name)
    if (last === undefined) {
      last = Number.NEGATIVE_INFINITY
      for (const { status } of this.of(name))
        for (const pod of cache.pods.by('byNode', status.nodeName ?? '')) {
          const atMs = boundAt(pod)
          if (atMs > last && podClass(cache, pod) === name) last = atMs
        }
      this.#lastBound.set(name, last)
    }
    return last
  }

  /** Whether the node of another NodeClaim for a class is about to come (`now`: epoch ms): pods that start together may wait for it. */
  isComing(name: string, now: number): boolean {
    let isComing = this.#coming.get(name)
    if (isComing === undefined) {
      isComing = this.of(name).some(
        (claim) =>
          now - Date.parse(claim.metadata.creationTimestamp) < comingMs &&
          !isLeaving(claim, undefined) &&
          !isTrue(claim.status.conditions, 'Initialized'),
      )
      this.#coming.set(name, isComing)
    }
    return isComing
  }

  /** Whether kube-scheduler has chosen a node for a pod whose volumes are being made, which takes a while and writes nothing on the pod. */
  isChosen(pod: Pod, nodeName: string | undefined): boolean {
    const { persistentVolumeClaims } = this.#deps.cache
    return pod.persistentVolumeClaims.some((name) => {
      const claim = persistentVolumeClaims.get(keyOf({ ...pod.metadata, name }))
      return nodeName !== undefined && claim?.metadata.annotations[selectedNode] === nodeName
    })
  }

  get #volumes(): Storage {
    const { persistentVolumeClaims, persistentVolumes, storageClasses } = this.#deps.cache
    this.#storage ??= new Storage({
      persistentVolumeClaims: [...persistentVolumeClaims.values()],
      persistentVolumes: [...persistentVolumes.values()],
      storageClasses: [...storageClasses.values()],
    })
    return this.#storage
  }
}

function claimsByClass(claims: Iterable<NodeClaim>): ReadonlyMap<string, readonly NodeClaim[]> {
  const found = new Map<string, NodeClaim[]>()
  for (const claim of claims)
    for (const name of podClassesOf(claim)) {
      const known = found.get(name)
      if (known === undefined) found.set(name, [claim])
      else known.push(claim)
    }
  return found
}

function boundAt({ conditions }: Pod): number {
  const bound = conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'True')
  return Date.parse(bound?.lastTransitionTime ?? '')
}
