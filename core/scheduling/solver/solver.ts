import { hostPortConflict } from '../../host-ports.ts'
import { minValues } from '../../instance-type.ts'
import { labels as knownLabels, wellKnownLabels } from '../../labels.ts'
import type { Pod, Taint } from '../../objects.ts'
import { podName } from '../../pod-rules.ts'
import { allows, operatorOf, type Requirement } from '../../requirement.ts'
import { merge, requirements } from '../../requirements.ts'
import { untolerated } from '../../taints.ts'
import { Reservations } from '../reservations.ts'
import type { PodVolumes, SchedulableNode, SchedulingOptions, SchedulingSnapshot } from '../snapshot.ts'
import type { Amounts } from './amounts.ts'
import { allBits, type Bits, keep, membersOf } from './bits.ts'
import { SolverMemory } from './memory.ts'
import { type ClaimPlace, ClaimQueue, type NodePlace, type Place } from './places.ts'
import {
  allowsHostname,
  type Concern,
  type Facet,
  type Level,
  type LevelSource,
  levelOf,
  RefusedPlaces,
  type RequestClass,
  requestKey,
  type Shape,
  shapeKey,
  withoutRules,
} from './pod-shapes.ts'
import { PoolIndex } from './pool-index.ts'
import { type Merge, type RequirementSet, RequirementSets, withoutHostname } from './requirement-sets.ts'
import { TopologyIndex } from './topology-index.ts'

/** A pod in the queue. */
export interface Waiting {
  readonly pod: Pod
  readonly shape: Shape
  readonly requested: RequestClass
  readonly volumes: PodVolumes | undefined
  readonly alternatives: readonly RequirementSet[]
  /** What each alternative asks of the hostname, if any asks something. */
  readonly alternativeHosts: readonly (Requirement | undefined)[] | undefined
  /** Why it cannot be placed whatever there is. */
  readonly hopeless: string | undefined
  /** How many pods had been placed when it was tried last. */
  triedAt: number
  /** Whether its last attempt was made before it had stated its rules. */
  triedBare: boolean
}

const noAlternatives: readonly Alternative[] = [undefined]
const reservationId = 'karpenter.azure.com/capacity-reservation-id'
const resourceClaimsError = 'pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter'
const hostnameLabel = knownLabels.hostname
const nothingHeld: ReadonlySet<string> = new Set()

/** Where a pod fits, and what becomes of the place. */
interface Fit {
  readonly set: RequirementSet
  readonly types: Bits
  readonly reserved: ReadonlySet<string>
  readonly minValuesRelaxed: boolean
}

/**
 * One pass over the pods. What it remembers is described, with the invariants that make it right, in docs/scheduler.md: requirement sets,
 * requests and constraints are interned; a place's refusal that cannot change is remembered; a pod that failed is not tried again
 * before something was placed.
 */
export class Solver {
  readonly sets: RequirementSets
  readonly amounts: Amounts
  readonly topology: TopologyIndex
  readonly nodes: readonly NodePlace[]
  readonly pools: readonly PoolIndex[]
  readonly claims: ClaimPlace[] = []
  readonly failed = new Set<Waiting>()
  readonly wellKnown: ReadonlySet<string>
  readonly options: SchedulingOptions
  readonly levels: LevelSource
  readonly reservations: Reservations | undefined
  readonly #snapshot: SchedulingSnapshot
  readonly #memory: SolverMemory
  readonly #queue = new ClaimQueue()
  readonly #shapes = new Map<string, Shape>()
  readonly #requests = new Map<string, RequestClass>()
  readonly #facets = new Map<string, Facet>()
  readonly #taintLists = new Map<string, number>()
  /** Grows with each placement: what failed at this number fails again. */
  #placements = 0
  readonly #failedAt = new Map<string, number>()
  #places = 0
  /** Requests of the claim that is looked at, with the pod's. */
  readonly #scratch: Float64Array
  #hostnames = 0

  constructor(snapshot: SchedulingSnapshot, options: SchedulingOptions, memory = new SolverMemory()) {
    this.#snapshot = snapshot
    this.options = options
    this.wellKnown = options.wellKnownLabels ?? wellKnownLabels
    this.#memory = memory
    this.sets = memory.setsFor(this.wellKnown)
    const requested = new Set(snapshot.pods.map((pod) => this.#requestClass(pod).requests))
    memory.learn(snapshot, requested)
    this.amounts = memory.amounts
    for (const one of this.#requests.values()) one.vector = this.amounts.vector(one.requests)
    this.#scratch = new Float64Array(this.amounts.size)
    this.pools = this.#indexPools()
    this.topology = this.#indexTopology()
    this.nodes = [...snapshot.nodes]
      .sort((a, b) => Number(b.initialized) - Number(a.initialized) || compareText(a.name, b.name))
      .map((node) => this.#nodePlace(node))
    this.reservations = this.#reservations()
    const usable = this.pools.filter(({ usable: types }) => types.some((word) => word !== 0))
    this.templates = usable
    this.levels = {
      sets: this.sets,
      respectsPreferences: options.preferencePolicy !== 'Ignore',
      toleratePreferNoSchedule: this.pools.some(({ taints }) =>
        taints.some(({ effect }) => effect === 'PreferNoSchedule'),
      ),
      facet: (tolerations, wanted) => this.#facet(tolerations, wanted),
      labelClass: (pod) => this.topology.labelClass(pod),
    }
  }

  /** Pools that can have new nodes at all, in the order in which they are tried. */
  readonly templates: readonly PoolIndex[]

  /** Places what it can. Returns whether `shouldStop` ended it. */
  run(): boolean {
    this.topology.trackRunning()
    const all = this.#snapshot.pods.map((pod) => this.#waiting(pod))
    // The first pod that states a rule decides for all that share its counts.
    for (const shape of [...this.#shapes.values()].sort((a, b) => compareText(a.first, b.first))) {
      if (shape.stated) this.#state(shape)
    }
    this.topology.knowHosts(this.nodes.map(({ host }) => host))
    return this.#placeAll(inOrder(all, this.amounts))
  }

  /** Those that failed are tried again for as long as others find a place. */
  #placeAll(waiting: readonly Waiting[]): boolean {
    for (let queue = waiting; queue.length > 0; ) {
      const failed: Waiting[] = []
      for (const one of queue) {
        if (one.triedAt === this.#placements) return false
        if (this.options.shouldStop?.() === true) return true
        if (this.#place(one)) this.failed.delete(one)
        else {
          if (!one.shape.stated) this.#state(one.shape)
          one.triedAt = this.#placements
          failed.push(one)
          this.failed.add(one)
        }
      }
      queue = failed
    }
    return false
  }

  /** Enters the rules that the shape's pods state with all their wishes. */
  #state(shape: Shape): void {
    this.topology.groupsOf(levelOf(shape, 0, this.levels) as Level)
    shape.inverse = this.topology.inverseOf(shape.pod)
    shape.stated = true
  }

  /** Gives up one wish after the other until there is a place. */
  #place(one: Waiting): boolean {
    if (one.hopeless !== undefined) return false
    const key = one.volumes === undefined ? `${one.shape.number}/${one.requested.number}` : undefined
    if (key !== undefined && this.#failedAt.get(key) === this.#placements) return false
    for (let number = 0; ; number++) {
      const level = levelOf(one.shape, number, this.levels)
      if (level === undefined) break
      one.triedBare = number === 0 && !one.shape.stated
      const answer = this.#attempt(one, one.triedBare ? withoutRules(level) : level)
      if (answer === 'placed') {
        this.#placements += 1
        return true
      }
      if (one.triedBare) one.shape.inverse = this.topology.inverseOf(one.shape.pod)
      if (answer === 'wait') break
    }
    if (key !== undefined) this.#failedAt.set(key, this.#placements)
    return false
  }

  #attempt(one: Waiting, level: Level): 'placed' | 'refused' | 'wait' {
    if (!this.#isHopeless(level)) {
      for (const node of this.nodes) if (this.#tryNode(node, one, level)) return 'placed'
      if (this.#tryClaims(one, level)) return 'placed'
    }
    return this.#open(one, level)
  }

  /** Whether a group leaves no domain anywhere, whatever the place. */
  #isHopeless(level: Level): boolean {
    for (const { group, pod, selectsItself } of this.topology.concerning(level))
      if (!group.isHostname && group.choose(pod, undefined, selectsItself) === undefined) return true
    return false
  }

  #tryNode(place: NodePlace, one: Waiting, level: Level): boolean {
    const { facet } = level
    if (facet.refused.bytes[place.number] === 1 || one.requested.refused.bytes[place.number] === 1) return false
    if (place.overused || !fits(one.requested.vector, place.free)) {
      one.requested.refused.add(place.number)
      return false
    }
    const base = this.#admitted(place, level, 'strict')
    if (base === undefined || !allowsHostname(level, place.hostname)) return false
    if (!this.#portsFree(place, level) || exceedsLimits(place, one)) return false
    for (const alternative of alternativesOf(one, place.hostname)) {
      const set = this.#narrowed(place, level, base, alternative, 'strict')
      if (set === undefined || !leavesOpen(place, set)) continue
      place.set = set
      const { vector } = one.requested
      place.free = place.free.map((amount, at) => amount - (vector[at] as number))
      this.#settle(place, one, level)
      return true
    }
    return false
  }

  /** Open claims, those with the fewest pods first. Most are passed over for what was found out before. */
  #tryClaims(one: Waiting, level: Level): boolean {
    const concerns = this.topology.concerning(level)
    for (const { group, selectsItself } of concerns)
      if (group.refusesAll(this.claims.length, selectsItself)) return false
    const hosts = concerns.filter(({ group }) => group.isHostname)
    const byFacet = level.facet.refused.upTo(this.#places)
    const byRequests = one.requested.refused.upTo(this.#places)
    for (let pods = 1; pods <= this.#queue.most; pods++) {
      for (let claim = this.#queue.first(pods); claim !== undefined; claim = claim.after) {
        if (byFacet[claim.number] === 1 || byRequests[claim.number] === 1) continue
        if (hosts.length > 0 && !allowedOn(claim.host, hosts)) continue
        if (this.#tryClaim(claim, one, level)) return true
      }
    }
    return false
  }

  #tryClaim(claim: ClaimPlace, one: Waiting, level: Level): boolean {
    const fit = this.#fit(claim, one, level, false)
    if (typeof fit === 'string') return false
    this.#add(claim, one, level, fit)
    this.#queue.promote(claim)
    return true
  }

  #open(one: Waiting, level: Level): 'placed' | 'refused' | 'wait' {
    for (const pool of this.templates) {
      if (pool.nodesExhausted) continue
      const types = pool.withinLimits
      if (types.every((word) => word === 0)) continue
      const claim = this.#newClaim(pool, types)
      const fit = this.#fit(claim, one, level, this.options.minValuesPolicy === 'BestEffort')
      if (fit === 'wait') return 'wait'
      if (typeof fit === 'string') continue
      this.#hostnames += 1
      claim.number = this.#places++
      this.#add(claim, one, level, fit)
      this.claims.push(claim)
      this.#queue.add(claim)
      pool.minValuesRelaxed = fit.minValuesRelaxed
      pool.spend(claim.types)
      return 'placed'
    }
    return 'refused'
  }

  #newClaim(pool: PoolIndex, types: Bits): ClaimPlace {
    const hostname = `hostname-placeholder-${String(this.#hostnames + 1).padStart(4, '0')}`
    return {
      number: -1,
      hostname,
      host: this.topology.host(hostname),
      isClaim: true,
      taints: pool.taints,
      taintList: this.#taintList(pool.taints),
      set: pool.set,
      pods: [],
      ports: [],
      volumes: new Map(),
      pool,
      requests: new Float64Array(this.amounts.size),
      types,
      reserved: nothingHeld,
      before: undefined,
      after: undefined,
    }
  }

  /** Whether a claim can take the pod beside those that it has (reference/karpenter-core.md 3.5). */
  #fit(claim: ClaimPlace, one: Waiting, level: Level, relaxMinValues: boolean): Fit | 'refused' | 'wait' {
    const base = this.#admitted(claim, level, 'lenient')
    if (base === undefined || !allowsHostname(level, claim.hostname) || !this.#portsFree(claim, level)) return 'refused'
    const { pool } = claim
    const requests = this.#scratch
    for (let at = 0; at < requests.length; at++)
      requests[at] = (claim.requests[at] as number) + (one.requested.vector[at] as number)
    if (!pool.hasRoom(claim.types, requests)) {
      one.requested.refused.add(claim.number)
      return 'refused'
    }
    const types = this.#attachable(claim, one)
    if (types === undefined) return 'refused'
    let answer: 'refused' | 'wait' = 'refused'
    for (const alternative of alternativesOf(one, claim.hostname)) {
      answer = 'refused'
      const set = this.#narrowed(claim, level, base, alternative, 'lenient')
      if (set === undefined) continue
      const left = pool.slotsFor(types, set, requests)
      if (left === undefined) continue
      if (level.pod.hostPorts.length > 0 && !keep(left, pool.withoutPorts(level.pod.hostPorts))) continue
      const fit = this.#reserve(claim, set, left, relaxMinValues)
      if (typeof fit !== 'string') return fit
      answer = fit
    }
    return answer
  }

  #reserve(claim: ClaimPlace, set: RequirementSet, types: Bits, relaxMinValues: boolean): Fit | 'refused' | 'wait' {
    let narrowed = set
    let minValuesRelaxed = false
    const all = claim.pool.index.types
    const left = () => membersOf(types).map((type) => all[type] as (typeof all)[number])
    if (set.hasMinValues) {
      const { unsatisfied } = minValues(left(), set.map)
      if (unsatisfied.size > 0) {
        if (!relaxMinValues) return 'refused'
        narrowed = this.#withMinValues(set, unsatisfied)
        minValuesRelaxed = true
      }
    }
    if (this.reservations === undefined || !claim.pool.hasReserved)
      return { set: narrowed, types, reserved: nothingHeld, minValuesRelaxed }
    const answer = this.reservations.ask(claim.hostname, left(), narrowed.map)
    if (answer.kind === 'refused') return answer.isDeferred ? 'wait' : 'refused'
    return { set: narrowed, types, reserved: answer.ids, minValuesRelaxed }
  }

  #withMinValues(set: RequirementSet, achievable: ReadonlyMap<string, number>): RequirementSet {
    const map = new Map(set.map)
    for (const [key, value] of achievable) map.set(key, { ...(map.get(key) as Requirement), minValues: value })
    return this.sets.intern(map)
  }

  #add(claim: ClaimPlace, one: Waiting, level: Level, fit: Fit): void {
    claim.set = fit.set
    claim.types = fit.types
    for (let at = 0; at < claim.requests.length; at++)
      claim.requests[at] = (claim.requests[at] as number) + (one.requested.vector[at] as number)
    this.reservations?.hold(claim.hostname, fit.reserved)
    claim.reserved = fit.reserved
    this.#settle(claim, one, level)
  }

  #settle(place: Place, one: Waiting, level: Level): void {
    place.pods.push(one.pod)
    place.ports.push(...level.pod.hostPorts)
    for (const [driver, ids] of Object.entries(one.volumes?.byDriver ?? {})) {
      const used = place.volumes.get(driver) ?? new Set()
      for (const id of ids) used.add(id)
      place.volumes.set(driver, used)
    }
    if (place.isClaim) this.topology.registerHost(place.host)
    this.topology.record(level.labelClass, one.shape.inverse, place.set, place)
  }

  /** The place's requirements with the pod's, if its taints and labels admit the pod. A refusal that stays is remembered. */
  #admitted(place: Place, level: Level, mode: 'lenient' | 'strict'): RequirementSet | undefined {
    const { facet } = level
    facet.tolerated[place.taintList] ??= untolerated(place.taints, facet.tolerations).length === 0
    const merged: Merge =
      facet.tolerated[place.taintList] === true ? this.sets.merged(place.set, facet.wanted, mode) : 'disjoint'
    if (typeof merged !== 'string') return merged
    if (merged === 'disjoint') facet.refused.add(place.number)
    return undefined
  }

  /** The place's requirements with one of the volumes' alternatives and with what topology chooses. */
  #narrowed(
    place: Place,
    level: Level,
    base: RequirementSet,
    alternative: Alternative,
    mode: 'lenient' | 'strict',
  ): RequirementSet | undefined {
    if (alternative === 'elsewhere') return undefined
    const reached = alternative === undefined ? base : this.sets.merged(base, alternative, mode)
    if (typeof reached === 'string') return undefined
    let chosen: RequirementSet | undefined
    for (const { group, pod, selectsItself } of this.topology.concerning(level)) {
      if (group.isHostname) {
        if (!group.allowsHost(place.host, pod, selectsItself)) return undefined
        continue
      }
      const choice = group.choose(pod, reached.map.get(group.key), selectsItself)
      if (choice === undefined) return undefined
      chosen = chosen === undefined ? this.sets.single(choice) : this.sets.both(chosen, choice)
    }
    if (chosen === undefined) return reached
    const narrowed = this.sets.narrowed(reached, chosen, mode)
    return typeof narrowed === 'string' ? undefined : narrowed
  }

  #portsFree(place: Place, level: Level): boolean {
    const wanted = level.pod.hostPorts
    return wanted.length === 0 || hostPortConflict(place.ports, wanted) === undefined
  }

  /** The claim's types that can attach its volumes and the pod's. */
  #attachable(claim: ClaimPlace, one: Waiting): Bits | undefined {
    const drivers = Object.keys(one.volumes?.byDriver ?? {})
    if (drivers.length === 0) return claim.types
    const types = allBits(claim.pool.index.types.length)
    claim.pool.index.types.forEach(({ volumeAttachmentLimits = {} }, type) => {
      for (const driver of new Set([...drivers, ...claim.volumes.keys()])) {
        const limit = volumeAttachmentLimits[driver]
        if (limit !== undefined && volumeCount(claim, one, driver) > limit)
          types[type >>> 5] = (types[type >>> 5] as number) & ~(1 << (type & 31))
      }
    })
    return keep(types, claim.types) ? types : undefined
  }

  #indexPools(): readonly PoolIndex[] {
    const { sets, amounts, wellKnown } = this
    const { nodePools, daemonSets } = this.#snapshot
    const context = { sets, amounts, wellKnown, daemonSets, memory: this.#memory }
    const relaxed = this.options.minValuesPolicy === 'BestEffort'
    return [...nodePools]
      .sort(
        (a, b) =>
          b.nodePool.weight - a.nodePool.weight || compareText(b.nodePool.metadata.name, a.nodePool.metadata.name),
      )
      .map(
        (option) =>
          new PoolIndex(
            option,
            (index, set) => {
              const slots = index.matching(set).slice()
              keep(slots, index.sound)
              const types = index.typesOf(slots).slice()
              const found = membersOf(types).map((type) => index.types[type] as (typeof index.types)[number])
              const short = set.hasMinValues && minValues(found, set.map).unsatisfied.size > 0
              return short && !relaxed ? types.fill(0) : types
            },
            context,
          ),
      )
  }

  #indexTopology(): TopologyIndex {
    const { nodes, occupied = [], namespaceLabels = new Map() } = this.#snapshot
    const places = nodes.map((node) => {
      const { joined, name, labels, taints } = node
      const { repelling } = this.#memory.place(node)
      const facts = joined ?? { name, labels, taints }
      return {
        facts,
        pods: node.pods,
        repelling,
        isTracked: true,
        ...(joined === undefined ? {} : { placeLabels: labels }),
      }
    })
    const others = occupied.map((node) => ({
      facts: node.facts,
      isTracked: node.isTracked,
      pods: node.pods,
      repelling: node.pods.filter(({ affinity }) => affinity?.podAntiAffinity !== undefined),
    }))
    return new TopologyIndex({
      sets: this.sets,
      memory: this.#memory,
      nodes: [...places, ...others]
        .sort((a, b) => compareText(a.facts.name, b.facts.name))
        .map(({ facts, ...rest }) => ({
          ...facts,
          ...rest,
          set: this.sets.ofLabels(facts.labels),
        })),
      pools: this.pools,
      namespaceLabels,
      ignorePreferences: this.options.preferencePolicy === 'Ignore',
    })
  }

  #nodePlace(node: SchedulableNode): NodePlace {
    const own = this.sets.ofLabels(node.labels)
    const open = [...withoutHostname(requirements(node.requirements ?? [])).values()].filter(
      ({ key }) => !own.map.has(key),
    )
    const free = this.#memory.free(node)
    const { ports } = this.#memory.place(node)
    return {
      number: this.#places++,
      hostname: node.hostname,
      host: this.topology.host(node.hostname),
      isClaim: false,
      taints: node.taints,
      taintList: this.#taintList(node.taints),
      set: open.length === 0 ? own : this.sets.intern(merge(own.map, open)),
      open,
      pods: [],
      ports: ports.length === 0 ? [] : [...ports],
      volumes: new Map(Object.entries(node.volumes ?? {}).map(([driver, ids]) => [driver, new Set(ids)])),
      node,
      free,
      overused: free.some((amount) => amount < 0) || hasTooMany(node),
    }
  }

  #reservations(): Reservations | undefined {
    if (this.options.reservedCapacity === false || !this.pools.some(({ hasReserved }) => hasReserved)) return undefined
    return new Reservations(
      this.#snapshot.nodePools.flatMap(({ instanceTypes }) => instanceTypes),
      {
        isEnabled: true,
        mode: this.options.reservedOfferings ?? 'Strict',
        idLabel: this.options.reservationIdLabel ?? reservationId,
        wellKnown: this.wellKnown,
      },
    )
  }

  #waiting(pod: Pod): Waiting {
    const volumes = this.#snapshot.podVolumes?.get(pod)
    const shape = this.#shape(pod, volumes?.lookupFailed !== true)
    return {
      pod,
      shape,
      requested: this.#requestClass(pod),
      volumes,
      ...this.#alternatives(volumes),
      hopeless: pod.resourceClaims.length > 0 ? resourceClaimsError : volumes?.error,
      triedAt: -1,
      triedBare: false,
    }
  }

  /** A pod that does not state its rules at once is of a shape of its own. */
  #shape(pod: Pod, stated: boolean): Shape {
    const key = stated ? shapeKey(pod) : podName(pod)
    const known = this.#shapes.get(key)
    const first = orderText(pod)
    if (known !== undefined) {
      if (first < known.first) known.first = first
      return known
    }
    const number = this.#shapes.size
    const shape: Shape = { number, pod, first, levels: [], complete: false, inverse: [], stated }
    this.#shapes.set(key, shape)
    return shape
  }

  #alternatives(volumes: PodVolumes | undefined): Pick<Waiting, 'alternatives' | 'alternativeHosts'> {
    const all = (volumes?.alternatives ?? []).map((one) => requirements(one))
    const hosts = all.map((one) => one.get(hostnameLabel))
    return {
      alternatives: all.map((one) => this.sets.intern(withoutHostname(one))),
      alternativeHosts: hosts.some((one) => one !== undefined) ? hosts : undefined,
    }
  }

  #requestClass(pod: Pod): RequestClass {
    const key = requestKey(pod.requests)
    let known = this.#requests.get(key)
    if (known === undefined) {
      known = {
        number: this.#requests.size,
        requests: pod.requests,
        vector: new Float64Array(0),
        refused: new RefusedPlaces(),
      }
      this.#requests.set(key, known)
    }
    return known
  }

  #facet(tolerations: Facet['tolerations'], wanted: RequirementSet): Facet {
    const key = `${wanted.id} ${JSON.stringify(tolerations)}`
    let known = this.#facets.get(key)
    if (known === undefined) {
      known = { tolerations, wanted, refused: new RefusedPlaces(), tolerated: [] }
      this.#facets.set(key, known)
    }
    return known
  }

  #taintList(taints: readonly Taint[]): number {
    const key = JSON.stringify(taints)
    const known = this.#taintLists.get(key)
    if (known !== undefined) return known
    const number = this.#taintLists.size
    this.#taintLists.set(key, number)
    return number
  }
}

/** More cpu, more memory, older, lower UID; then by name (reference/karpenter-core.md 3.3). */
function inOrder(waiting: Waiting[], amounts: Amounts): Waiting[] {
  const cpu = amounts.indexOf('cpu')
  const memory = amounts.indexOf('memory')
  const keyed = waiting.map((one) => ({
    one,
    cpu: one.requested.vector[cpu] ?? 0,
    memory: one.requested.vector[memory] ?? 0,
    created: Date.parse(one.pod.metadata.creationTimestamp),
  }))
  keyed.sort(
    (a, b) =>
      b.cpu - a.cpu ||
      b.memory - a.memory ||
      a.created - b.created ||
      compareText(a.one.pod.metadata.uid, b.one.pod.metadata.uid) ||
      compareText(a.one.pod.metadata.namespace ?? '', b.one.pod.metadata.namespace ?? '') ||
      compareText(a.one.pod.metadata.name, b.one.pod.metadata.name),
  )
  return keyed.map(({ one }) => one)
}

/** Pods that wait come before those that have to move, then by name. */
function orderText(pod: Pod): string {
  return `${pod.nodeName === undefined ? 0 : 1}${podName(pod)}`
}

/** One way to reach a pod's volumes; an undefined one asks nothing, one of other hosts cannot be had here. */
type Alternative = RequirementSet | undefined | 'elsewhere'

function alternativesOf({ alternatives, alternativeHosts }: Waiting, hostname: string): readonly Alternative[] {
  if (alternatives.length === 0) return noAlternatives
  if (alternativeHosts === undefined) return alternatives
  return alternatives.map((one, at) => {
    const wanted = alternativeHosts[at]
    return wanted === undefined || allows(wanted, hostname) ? one : 'elsewhere'
  })
}

function fits(requests: Float64Array, free: Float64Array): boolean {
  for (let at = 0; at < requests.length; at++) if ((requests[at] as number) > (free[at] as number)) return false
  return true
}

/** Whether every value that a label may still get would do for all pods of a node that has no VM yet. */
function leavesOpen({ open }: NodePlace, set: RequirementSet): boolean {
  return open.every((before) => {
    const after = set.map.get(before.key) as Requirement
    if (operatorOf(before) !== 'In' && operatorOf(after) !== operatorOf(before)) return false
    return after.values.size === before.values.size
  })
}

/** Whether more volumes are attached of a driver than it may have: as upstream, that keeps away pods without volumes too. */
function hasTooMany({ volumes = {}, volumeLimits = {} }: SchedulableNode): boolean {
  return Object.entries(volumes).some(
    ([driver, ids]) => ids.length > (volumeLimits[driver] ?? Number.POSITIVE_INFINITY),
  )
}

function exceedsLimits(place: NodePlace, one: Waiting): boolean {
  const limits = place.node.volumeLimits
  if (limits === undefined || one.volumes === undefined) return false
  return Object.keys(one.volumes.byDriver).some((driver) => {
    const limit = limits[driver]
    return limit !== undefined && volumeCount(place, one, driver) > limit
  })
}

function volumeCount(place: Place, one: Waiting, driver: string): number {
  const used = place.volumes.get(driver)
  const added = new Set(one.volumes?.byDriver[driver] ?? [])
  let count = used?.size ?? 0
  for (const id of added) if (used?.has(id) !== true) count += 1
  return count
}

function allowedOn(host: number, concerns: readonly Concern[]): boolean {
  for (const { group, pod, selectsItself } of concerns) if (!group.allowsHost(host, pod, selectsItself)) return false
  return true
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
