import type { InstanceType } from '../../instance-type.ts'
import { templateOf, templateRequirements } from '../../node-pool/node-claim-template.ts'
import type { ContainerPort, Taint } from '../../objects.ts'
import { hostPortConflict } from '../../pods/host-ports.ts'
import type { DaemonSet } from '../../pods/related-objects.ts'
import { labels } from '../../requirements/labels.ts'
import { intersect, operatorOf, type Requirement } from '../../requirements/requirement.ts'
import { merge, type Requirements, requirements, requirementsOfLabels } from '../../requirements/requirements.ts'
import type { NodePoolOption } from '../snapshot.ts'
import type { Amounts } from './amounts.ts'
import { addBit, type Bits, hasBit, keep, membersOf, noBits } from './bits.ts'
import { type DaemonGroup, daemonGroups } from './daemon-types.ts'
import type { RequirementSet, RequirementSets } from './requirement-sets.ts'
import type { Room } from './room.ts'
import type { TypeIndex } from './type-index.ts'

export interface PoolContext {
  readonly sets: RequirementSets
  readonly amounts: Amounts
  readonly daemonSets: readonly DaemonSet[]
  readonly typeIndex: (types: readonly InstanceType[]) => TypeIndex
}

/** A NodePool with its types for new NodeClaims, before its limits. */
export class PoolFacts {
  readonly option: NodePoolOption
  readonly name: string
  readonly taints: readonly Taint[]
  /** Requirements that its nodes meet, with the labels of running nodes. */
  readonly set: RequirementSet
  readonly index: TypeIndex
  /** Types that the pool's own requirements leave; it takes part only when there are some. */
  readonly usable: Bits
  readonly groups: readonly DaemonGroup[]
  readonly hasReserved: boolean
  readonly amounts: Amounts
  readonly capacity: readonly Float64Array[]
  readonly #room: Room
  readonly #own: Requirements
  readonly #sets: RequirementSets
  /** Types sorted by their amount of a resource, the most first. */
  readonly #descending: number[][] = []
  readonly #domains = new Map<string, ReadonlySet<string>>()
  /** Buffer that each query overwrites; no query reads an earlier one's result. */
  readonly #scratch: Bits
  readonly #portMasks = new Map<string, Bits>()

  constructor(option: NodePoolOption, usable: (index: TypeIndex, set: RequirementSet) => Bits, context: PoolContext) {
    const { nodePool } = option
    const { spec } = nodePool.template
    this.option = option
    this.name = nodePool.metadata.name
    this.taints = spec.taints
    this.amounts = context.amounts
    this.#sets = context.sets
    this.#own = merge(requirements(spec.requirements), requirementsOfLabels(nodePool.template.labels).values())
    this.set = context.sets.intern(
      templateRequirements({
        ...templateOf(nodePool),
        labels: { ...nodePool.template.labels, [labels.registered]: 'true', [labels.initialized]: 'true' },
      }),
    )
    this.index = context.typeIndex(option.instanceTypes)
    this.usable = usable(this.index, this.set)
    this.groups = daemonGroups(this, context.daemonSets, context.sets)
    this.#room = this.index.roomBeside(
      this.groups.map(({ types, overhead }) => ({ types, overhead: context.amounts.vector(overhead) })),
    )
    this.#scratch = noBits(this.index.slots.length)
    this.capacity = this.index.capacity
    this.hasReserved = this.index.hasReserved
  }

  /** Returns slots of these types that match the set and have room for the requests beside the daemons. */
  slotsFor(types: Bits, set: RequirementSet, requests: Float64Array): Bits | undefined {
    const slots = this.#scratch
    slots.set(this.index.matching(set))
    if (!this.#room.keepFitting(slots, requests)) return undefined
    const left = this.index.typesOf(slots)
    return keep(left, types) ? left.slice() : undefined
  }

  /** Whether any of the types has room for the requests, whatever they require; if not, none ever will. */
  hasRoom(types: Bits, requests: Float64Array): boolean {
    const slots = this.#scratch
    if (this.index.plain) slots.set(types)
    else {
      slots.fill(0)
      this.index.slots.forEach(({ type }, slot) => {
        if (hasBit(types, type)) addBit(slots, slot)
      })
    }
    return this.#room.keepFitting(slots, requests)
  }

  /** Returns types whose daemons hold none of these host ports. */
  withoutPorts(ports: readonly ContainerPort[]): Bits {
    const key = JSON.stringify(ports)
    let mask = this.#portMasks.get(key)
    if (mask === undefined) {
      mask = noBits(this.index.types.length)
      for (const group of this.groups)
        if (hostPortConflict(group.ports, ports) === undefined)
          for (const type of membersOf(group.types)) addBit(mask, type)
      this.#portMasks.set(key, mask)
    }
    return mask
  }

  /** Returns the largest amount of a resource that one of the types has. */
  most(types: Bits, resource: number): number {
    let descending = this.#descending[resource]
    if (descending === undefined) {
      const amount = (type: number) => (this.capacity[type] as Float64Array)[resource] as number
      descending = this.index.types.map((_, type) => type).sort((a, b) => amount(b) - amount(a))
      this.#descending[resource] = descending
    }
    const largest = descending.find((type) => hasBit(types, type))
    return largest === undefined ? 0 : ((this.capacity[largest] as Float64Array)[resource] as number)
  }

  /** Returns values that the pool's nodes may have for a topology key. */
  domainsOf(key: string): ReadonlySet<string> {
    let known = this.#domains.get(key)
    if (known === undefined) {
      known = poolDomains(key, this.#own.get(key), this.index.types)
      this.#domains.set(key, known)
    }
    return known
  }

  /** Returns what the pool's nodes are that meet these sets; undefined when no type on offer does. */
  made(wanted: readonly RequirementSet[]): RequirementSet | undefined {
    const made = this.#merged(this.set, wanted)
    return made !== undefined && this.#hasTypes(made) ? made : undefined
  }

  /** Whether some of the nodes that `made` returned can be in the domain. */
  isIn(domain: Requirement, made: RequirementSet): boolean {
    const there = this.#merged(made, [this.#sets.single(domain)])
    // Types do not differ in what only the pool decides.
    return there !== undefined && (!this.index.defined.has(domain.key) || this.#hasTypes(there))
  }

  #merged(base: RequirementSet, added: readonly RequirementSet[]): RequirementSet | undefined {
    let set = base
    for (const one of added) {
      const merged = this.#sets.merged(set, one, 'lenient')
      if (typeof merged === 'string') return undefined
      set = merged
    }
    return set
  }

  #hasTypes(set: RequirementSet): boolean {
    const types = this.index.typesOf(this.index.matching(set))
    return types.some((word, at) => (word & (this.usable[at] as number)) !== 0)
  }
}

/** Returns the values of the pool's requirement on the key, with each type's values narrowed by it (reference/karpenter-core.md 3.8). */
function poolDomains(key: string, own: Requirement | undefined, types: readonly InstanceType[]): ReadonlySet<string> {
  if (types.length === 0) return new Set()
  const domains = new Set<string>(own !== undefined && operatorOf(own) === 'In' ? own.values : [])
  const seen = new Set<Requirement>()
  for (const { requirements: offered } of types) {
    const theirs = offered.get(key)
    if (theirs !== undefined && seen.has(theirs)) continue
    if (theirs !== undefined) seen.add(theirs)
    const both = own === undefined ? theirs : theirs === undefined ? own : intersect(own, theirs)
    for (const value of both?.values ?? []) domains.add(value)
  }
  return domains
}
