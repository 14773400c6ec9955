import type { InstanceType, Overhead } from '../../instance-type.ts'
import type { ContainerPort, Pod } from '../../objects.ts'
import { noResources, type Resources } from '../../resources.ts'
import { Amounts } from '../offerings/amounts.ts'
import { RequirementSets } from '../offerings/requirement-sets.ts'
import { TypeIndex } from '../offerings/type-index.ts'
import type { SchedulableNode, SchedulingSnapshot } from '../snapshot.ts'
import { RunningPods } from '../topology/running-pods.ts'
import { PodTexts } from './pod-texts.ts'

/** Facts that depend on a place of the snapshot alone. */
interface KnownPlace {
  readonly ports: readonly ContainerPort[]
  /** Pods that state anti-affinity. */
  readonly repelling: readonly Pod[]
  free: Float64Array | undefined
  freeVersion: number
}

/** Most sets to keep: labels of former nodes are among them. */
const mostSets = 200_000

/**
 * Cache from one pass to the next: sets, units and facts about unchanged objects. It changes no result; a pass without it computes the same plan more
 * slowly.
 */
export class SolverMemory {
  readonly amounts = new Amounts()
  readonly running = new RunningPods()
  readonly texts = new PodTexts()
  readonly #places = new WeakMap<SchedulableNode, KnownPlace>()
  readonly #learned = new WeakSet<object>()
  #sets: RequirementSets | undefined
  #wellKnown: ReadonlySet<string> | undefined
  #typeIndexes = new WeakMap<readonly InstanceType[], { readonly version: number; readonly index: TypeIndex }>()

  setsFor(wellKnown: ReadonlySet<string>): RequirementSets {
    if (this.#sets === undefined || this.#wellKnown !== wellKnown || this.#sets.size > mostSets) {
      this.#wellKnown = wellKnown
      this.#sets = new RequirementSets(wellKnown)
      this.#typeIndexes = new WeakMap()
    }
    return this.#sets
  }

  /** Learns every amount of a snapshot; those of places and types once. */
  learn({ nodes, daemonSets, nodePools }: SchedulingSnapshot, requested: Iterable<Resources>): void {
    const hasLimits = nodePools.some(({ nodePool }) => Object.keys(nodePool.limits).length > 0)
    for (const node of nodes) {
      this.#once(node, () => this.amounts.offered(node.available))
      // A pass that removes a node in simulation subtracts its capacity from the usage of limits.
      if (hasLimits) this.#once(node.capacity, () => this.amounts.offered(node.capacity))
    }
    for (const { nodePool, usage, instanceTypes } of nodePools) {
      this.amounts.offered(nodePool.limits)
      this.amounts.offered(usage)
      this.#once(instanceTypes, () => {
        for (const amounts of amountsOf(instanceTypes)) this.amounts.offered(amounts)
      })
    }
    for (const requests of requested) this.amounts.asked(requests)
    for (const { pod } of daemonSets) this.amounts.asked(pod.requests)
  }

  #once(object: object, learn: () => void): void {
    if (this.#learned.has(object)) return
    learn()
    this.#learned.add(object)
  }

  typeIndex(types: readonly InstanceType[], wellKnown: ReadonlySet<string>): TypeIndex {
    const known = this.#typeIndexes.get(types)
    if (known?.version === this.amounts.version) return known.index
    const index = new TypeIndex(types, { sets: this.setsFor(wellKnown), amounts: this.amounts, wellKnown })
    this.#typeIndexes.set(types, { version: this.amounts.version, index })
    return index
  }

  place(node: SchedulableNode): KnownPlace {
    const known = this.#places.get(node)
    if (known !== undefined) return known
    const place = {
      ports: node.pods.flatMap(({ hostPorts }) => hostPorts),
      repelling: node.pods.filter(({ affinity }) => affinity?.podAntiAffinity !== undefined),
      free: undefined,
      freeVersion: -1,
    }
    this.#places.set(node, place)
    return place
  }

  /** Returns a place's free amounts, which must not be changed. */
  free(node: SchedulableNode): Float64Array {
    const place = this.place(node)
    if (place.free === undefined || place.freeVersion !== this.amounts.version) {
      place.free = this.amounts.vector(node.available)
      place.freeVersion = this.amounts.version
    }
    return place.free
  }
}

function* amountsOf(types: readonly InstanceType[]): Iterable<Resources> {
  for (const { capacity, overhead, offerings } of types) {
    yield capacity
    yield* overheadAmounts(overhead)
    for (const { capacityOverride, overheadOverride } of offerings) {
      if (capacityOverride !== undefined) yield capacityOverride
      if (overheadOverride !== undefined) yield* overheadAmounts(overheadOverride)
    }
  }
}

function* overheadAmounts({ kubeReserved, systemReserved, evictionThreshold }: Overhead): Iterable<Resources> {
  for (const part of [kubeReserved, systemReserved, evictionThreshold]) yield part ?? noResources
}
