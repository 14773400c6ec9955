import type { ContainerPort, Taint } from '../../objects.ts'
import type { NodePoolOption, SchedulableNode } from '../snapshot.ts'
import { addBit, type Bits, membersOf, noBits } from './bits.ts'
import type { DaemonGroup } from './daemon-types.ts'
import type { PoolFacts } from './pool-facts.ts'
import type { RequirementSet } from './requirement-sets.ts'
import type { TypeIndex } from './type-index.ts'

/** A NodePool in a pass: each new claim reduces what its limits leave. */
export class PoolIndex {
  readonly facts: PoolFacts
  readonly option: NodePoolOption
  readonly name: string
  readonly taints: readonly Taint[]
  readonly set: RequirementSet
  readonly index: TypeIndex
  readonly usable: Bits
  readonly groups: readonly DaemonGroup[]
  readonly hasReserved: boolean
  /**
   * Whether the last opened claim needed its minValues lowered. As upstream, whose claims of one pool share their annotations, it is reported of all
   * of them.
   */
  minValuesRelaxed = false
  /** Amounts within the limits; infinite without a limit. */
  readonly #remaining: Float64Array
  #nodesLeft: number
  #within: Bits | undefined
  /** Resources with a limit. */
  readonly #limited: number[] = []

  /** `gone`: nodes whose capacity is no longer in use. */
  constructor(facts: PoolFacts, gone: readonly SchedulableNode[] = []) {
    const { option, name, taints, set, index, usable, groups, hasReserved } = facts
    this.facts = facts
    this.option = option
    this.name = name
    this.taints = taints
    this.set = set
    this.index = index
    this.usable = usable
    this.groups = groups
    this.hasReserved = hasReserved
    this.#remaining = new Float64Array(facts.amounts.size).fill(Number.POSITIVE_INFINITY)
    this.#nodesLeft = Number.POSITIVE_INFINITY
    this.#applyLimits(gone.filter(({ nodePool }) => nodePool === name))
  }

  #applyLimits(gone: readonly SchedulableNode[]): void {
    const { nodePool, usage } = this.option
    const { amounts } = this.facts
    if (Object.keys(nodePool.limits).length === 0) return
    const limits = amounts.vector(nodePool.limits)
    const used = amounts.vector(usage)
    const freed = gone.map(({ capacity }) => amounts.vector(capacity))
    for (const name in nodePool.limits) {
      const at = amounts.indexOf(name)
      const left = (limits[at] as number) - (used[at] as number)
      if (name === 'nodes')
        this.#nodesLeft = left + (Object.hasOwn(usage, name) ? gone.length * amounts.whole(name) : 0)
      this.#remaining[at] = Object.hasOwn(usage, name)
        ? freed.reduce((sum, one) => sum + (one[at] as number), left)
        : left
      if (name !== 'nodes') this.#limited.push(at)
    }
  }

  slotsFor(types: Bits, set: RequirementSet, requests: Float64Array): Bits | undefined {
    return this.facts.slotsFor(types, set, requests)
  }

  hasRoom(types: Bits, requests: Float64Array): boolean {
    return this.facts.hasRoom(types, requests)
  }

  withoutPorts(ports: readonly ContainerPort[]): Bits {
    return this.facts.withoutPorts(ports)
  }

  /** Whether it can have new nodes at all. */
  get isUsable(): boolean {
    return this.usable.some((word) => word !== 0)
  }

  /** Whether its limit leaves no whole node. */
  get nodesExhausted(): boolean {
    return this.#nodesLeft >= 0 && this.#nodesLeft < this.facts.amounts.whole('nodes')
  }

  /** Usable types that the limits leave. */
  get withinLimits(): Bits {
    this.#within ??= this.#typesWithinLimits()
    return this.#within
  }

  #typesWithinLimits(): Bits {
    const { usable, facts } = this
    if (this.#nodesLeft < 0) return noBits(this.index.types.length)
    if (this.#limited.every((at) => facts.most(usable, at) <= (this.#remaining[at] as number))) return usable
    const within = noBits(this.index.types.length)
    for (const type of membersOf(usable)) {
      const capacity = facts.capacity[type] as Float64Array
      if (this.#limited.every((at) => (capacity[at] as number) <= (this.#remaining[at] as number))) addBit(within, type)
    }
    return within
  }

  /** Subtracts the largest of the types from the limits, since any of them may be launched. */
  spend(types: Bits): void {
    for (const at of this.#limited) {
      const most = this.facts.most(types, at)
      if (most === 0) continue
      this.#remaining[at] = (this.#remaining[at] as number) - most
      this.#within = undefined
    }
  }
}
