import type { InstanceType } from '../../instance-type.ts'
import { templateRequirements } from '../../node-pool/node-claim-template.ts'
import type { ContainerPort, Taint } from '../../objects.ts'
import { hostPortConflict } from '../../pods/host-ports.ts'
import type { DaemonSet } from '../../pods/related-objects.ts'
import { labels } from '../../requirements/labels.ts'
import { intersect, operatorOf, type Requirement } from '../../requirements/requirement.ts'
import {
  merge,
  podRequirements,
  type Requirements,
  requirements,
  requirementsOfLabels,
} from '../../requirements/requirements.ts'
import { mergeResources, noResources, type Resources } from '../../resources.ts'
import { untolerated } from '../../taints.ts'
import type { NodePoolOption, SchedulableNode } from '../snapshot.ts'
import type { SolverMemory } from '../solver/memory.ts'
import type { Amounts } from './amounts.ts'
import { addBit, type Bits, hasBit, keep, membersOf, noBits } from './bits.ts'
import type { RequirementSet, RequirementSets } from './requirement-sets.ts'
import { Room } from './room.ts'
import type { TypeIndex } from './type-index.ts'

/** Types of a pool on which the same daemons run. */
export interface DaemonGroup {
  readonly types: Bits
  readonly overhead: Resources
  readonly ports: readonly ContainerPort[]
  readonly daemons: number
}

export interface PoolContext {
  readonly sets: RequirementSets
  readonly amounts: Amounts
  readonly wellKnown: ReadonlySet<string>
  readonly daemonSets: readonly DaemonSet[]
  readonly memory: SolverMemory
}

/** A NodePool with its types, as new NodeClaims see it, but for what its limits leave. */
export class PoolFacts {
  readonly option: NodePoolOption
  readonly name: string
  readonly taints: readonly Taint[]
  /** What its nodes meet, with the labels that they will have once they are up. */
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
  /** Types by how much of a resource they have, the most first. */
  readonly #descending: number[][] = []
  readonly #domains = new Map<string, ReadonlySet<string>>()
  /** Written by each question and read by none after it. */
  readonly #scratch: Bits
  readonly #portMasks = new Map<string, Bits>()

  constructor(option: NodePoolOption, usable: (index: TypeIndex, set: RequirementSet) => Bits, context: PoolContext) {
    const { nodePool } = option
    const { spec } = nodePool.template
    this.option = option
    this.name = nodePool.metadata.name
    this.taints = spec.taints
    this.amounts = context.amounts
    this.#own = merge(requirements(spec.requirements), requirementsOfLabels(nodePool.template.labels).values())
    this.set = context.sets.intern(
      templateRequirements({
        nodePool: this.name,
        labels: {
          ...nodePool.template.labels,
          [labels.registered]: 'true',
          [labels.initialized]: 'true',
        },
        nodeClassRef: spec.nodeClassRef,
        requirements: spec.requirements,
      }),
    )
    this.index = context.memory.typeIndex(option.instanceTypes, context.wellKnown)
    this.usable = usable(this.index, this.set)
    this.groups = daemonGroups(this, context)
    const overhead = this.groups.map((group) => context.amounts.vector(group.overhead))
    const free = this.index.slots.map(({ type, free: all }) => {
      const group = this.groups.findIndex(({ types }) => hasBit(types, type))
      return group < 0 ? all : all.map((amount, at) => amount - ((overhead[group] as Float64Array)[at] as number))
    })
    this.#room = new Room(free, context.amounts.size)
    this.#scratch = noBits(this.index.slots.length)
    this.capacity = this.index.types.map(({ capacity }) => context.amounts.vector(capacity))
    this.hasReserved = this.index.types.some(({ offerings }) =>
      offerings.some(({ requirements: wanted }) => wanted.get(labels.capacityType)?.values.has('reserved')),
    )
  }

  /** Slots among these types that match the set and have room for the requests beside the daemons. */
  slotsFor(types: Bits, set: RequirementSet, requests: Float64Array): Bits | undefined {
    const slots = this.#scratch
    slots.set(this.index.matching(set))
    if (!this.#room.keepFitting(slots, requests)) return undefined
    const left = this.index.typesOf(slots)
    return keep(left, types) ? left.slice() : undefined
  }

  /** Whether any of the types has room for the requests, whatever it requires: if not, none ever will. */
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

  /** Types whose daemons hold none of these host ports. */
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

  /** The most of a resource that one of the types has. */
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

  /** Values that the pool's nodes may have for a topology key. */
  domainsOf(key: string): ReadonlySet<string> {
    let known = this.#domains.get(key)
    if (known === undefined) {
      known = poolDomains(key, this.#own.get(key), this.index.types)
      this.#domains.set(key, known)
    }
    return known
  }
}

/** A NodePool in a pass: what its limits leave, less with each new claim. */
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
   * Whether the claim that was opened last needed its minValues lowered. As upstream, whose claims of one pool share their annotations, it
   * is told of all of them.
   */
  minValuesRelaxed = false
  /** What the limits leave; without a limit infinitely much. */
  readonly #remaining: Float64Array
  #nodesLeft: number
  #within: Bits | undefined
  /** Resources with a limit. */
  readonly #limited: number[] = []

  /** `gone`: nodes whose capacity is not in use any more. */
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

  get nodesExhausted(): boolean {
    return this.#nodesLeft === 0
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

  /** Takes the largest of the types off the limits, since any of them may be launched. */
  spend(types: Bits): void {
    for (const at of this.#limited) {
      const most = this.facts.most(types, at)
      if (most === 0) continue
      this.#remaining[at] = (this.#remaining[at] as number) - most
      this.#within = undefined
    }
  }
}

/** The values of the pool's requirement on the key, each type's narrowed by it (reference/karpenter-core.md 3.8). */
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

/** Types by the daemons that will run on them. */
function daemonGroups(pool: PoolFacts, { sets, daemonSets }: PoolContext): readonly DaemonGroup[] {
  const fitting = daemonSets.map(({ pod }) => daemonTypes(pool, pod, sets))
  const groups = new Map<string, { types: Bits; daemons: DaemonSet[] }>()
  for (const type of membersOf(pool.usable)) {
    const daemons = daemonSets.filter((_, at) => hasBit(fitting[at] as Bits, type))
    const key = daemons.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).join()
    let group = groups.get(key)
    if (group === undefined) {
      group = { types: noBits(pool.index.types.length), daemons }
      groups.set(key, group)
    }
    addBit(group.types, type)
  }
  return [...groups.values()].map(({ types, daemons }) => ({
    types,
    daemons: daemons.length,
    overhead: daemons.reduce<Resources>((sum, { pod }) => mergeResources(sum, pod.requests), noResources),
    ports: daemons.flatMap(({ pod }) => pod.hostPorts),
  }))
}

/**
 * The types on which a daemon would run. Its wishes do not matter. As upstream, of its required affinity terms one that a type does not
 * meet is not tried on the types after it.
 */
function daemonTypes(pool: PoolFacts, daemon: DaemonSet['pod'], sets: RequirementSets): Bits {
  const types = noBits(pool.index.types.length)
  const tolerations = [...daemon.tolerations, { operator: 'Exists' as const, effect: 'PreferNoSchedule' as const }]
  if (daemon.resourceClaims.length > 0 || untolerated(pool.taints, tolerations).length > 0) return types
  const terms = daemon.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const met = Array.from({ length: Math.max(1, terms.length) }, (_, at) => {
    const wanted = sets.intern(podRequirements(withTerm(daemon, at), { strict: true }))
    return typeof sets.merged(pool.set, wanted, 'lenient') === 'string' ? types.slice() : pool.index.meeting(wanted)
  })
  let term = 0
  for (const type of membersOf(pool.usable)) {
    while (term < met.length - 1 && !hasBit(met[term] as Bits, type)) term += 1
    if (hasBit(met[term] as Bits, type)) addBit(types, type)
  }
  return types
}

function withTerm(daemon: DaemonSet['pod'], at: number): Pick<DaemonSet['pod'], 'nodeSelector' | 'affinity'> {
  const terms = daemon.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  if (terms === undefined || terms.length < 2) return daemon
  const required = { nodeSelectorTerms: terms.slice(at) }
  return {
    nodeSelector: daemon.nodeSelector,
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
  }
}
