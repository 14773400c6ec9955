import type { ContainerPort, Pod } from '../../objects.ts'
import { operatorOf, type Requirement } from '../../requirements/requirement.ts'
import type { Bits } from '../offerings/bits.ts'
import type { PoolIndex } from '../offerings/pool-index.ts'
import type { RequirementSet } from '../offerings/requirement-sets.ts'
import type { SchedulableNode } from '../snapshot.ts'
import type { TopologyPlace } from '../topology/topology-index.ts'

/** A place for pods: an existing or in-flight node, or a claim that the pass has opened. Numbered as they receive their first pod. */
export interface Place extends Omit<TopologyPlace, 'set'> {
  /** -1 until the pass has put a pod there. */
  number: number
  /** Number of its list of taints; places with equal lists share it. */
  readonly taintList: number
  set: RequirementSet
  readonly pods: Pod[]
  readonly ports: ContainerPort[]
  /** Distinct volumes by CSI driver. */
  readonly volumes: Map<string, Set<string>>
}

export interface NodePlace extends Place {
  readonly node: SchedulableNode
  /** Of labels that the Node has instead. */
  readonly reported: RequirementSet | undefined
  /** Labels that a claim without a VM leaves open; a pod must not rely on one of several values. */
  readonly open: readonly Requirement[]
  /** Replaced when a pod comes; the first one is shared with other passes. */
  free: Float64Array
  /** It is closed, or its use exceeds its capacity: nothing fits, not even a pod without requests. */
  readonly overused: boolean
}

export interface ClaimPlace extends Place {
  readonly pool: PoolIndex
  readonly requests: Float64Array
  types: Bits
  /** The group that its pods must be of; undefined: any pod without a group. */
  readonly apart: string | undefined
  /** Ids of reservations held by this claim. */
  reserved: ReadonlySet<string>
  /** Neighbours in the list of claims with as many pods. */
  before: ClaimPlace | undefined
  after: ClaimPlace | undefined
}

export const nothingHeld: ReadonlySet<string> = new Set()

/** Returns a claim of a pool without pods. */
export function emptyClaim(
  pool: PoolIndex,
  own: Pick<ClaimPlace, 'hostname' | 'host' | 'taintList' | 'requests' | 'types' | 'apart'>,
): ClaimPlace {
  return {
    ...own,
    number: -1,
    isClaim: true,
    taints: pool.taints,
    set: pool.set,
    pods: [],
    ports: [],
    volumes: new Map(),
    pool,
    reserved: nothingHeld,
    before: undefined,
    after: undefined,
  }
}

/**
 * Open claims by their number of pods, fewest first. A claim that receives a pod moves to the front of the next list, and a new one to the end of the
 * first. This is the order of a stable sort after each pod.
 */
export class ClaimQueue {
  readonly #first: (ClaimPlace | undefined)[] = []
  #lastOfOnes: ClaimPlace | undefined

  /** Returns the largest number of pods on a claim. */
  get most(): number {
    return this.#first.length - 1
  }

  first(pods: number): ClaimPlace | undefined {
    return this.#first[pods]
  }

  /** Adds a claim that has its first pod. */
  add(claim: ClaimPlace): void {
    claim.before = this.#lastOfOnes
    if (this.#lastOfOnes === undefined) {
      this.#first[0] ??= undefined
      this.#first[1] = claim
    } else this.#lastOfOnes.after = claim
    this.#lastOfOnes = claim
  }

  /** Moves a claim that has just received a pod. */
  promote(claim: ClaimPlace): void {
    const before = claim.pods.length - 1
    if (claim.before === undefined) this.#first[before] = claim.after
    else claim.before.after = claim.after
    if (claim.after !== undefined) claim.after.before = claim.before
    if (this.#lastOfOnes === claim) this.#lastOfOnes = claim.before
    const next = this.#first[claim.pods.length]
    claim.before = undefined
    claim.after = next
    if (next !== undefined) next.before = claim
    this.#first[claim.pods.length] = claim
  }
}

/** Whether every value that a label may still get suits all pods of a node without a VM. */
export function leavesOpen({ open }: NodePlace, set: RequirementSet): boolean {
  return open.every((before) => {
    const after = set.map.get(before.key) as Requirement
    if (operatorOf(before) !== 'In' && operatorOf(after) !== operatorOf(before)) return false
    return after.values.size === before.values.size
  })
}
