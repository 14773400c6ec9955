import { minValues } from '../../instance-type.ts'
import type { Pod } from '../../objects.ts'
import { hostPortConflict } from '../../pods/host-ports.ts'
import type { Amounts } from '../offerings/amounts.ts'
import { type Bits, keep, membersOf } from '../offerings/bits.ts'
import { PoolIndex } from '../offerings/pool-index.ts'
import type { Merge, MergeMode, RequirementSet, RequirementSets } from '../offerings/requirement-sets.ts'
import type { Reservations } from '../reservations.ts'
import type { SchedulingOptions } from '../snapshot.ts'
import { TopologyIndex } from '../topology/topology-index.ts'
import { attach, attachable, exceedsLimits } from './attachments.ts'
import { fits, toleratesAll } from './candidates.ts'
import { type Change, noChange } from './change.ts'
import { type HeavyPods, noHeavyPods, type Placement, placeHeavy } from './heavy-pods.ts'
import { PassNodes } from './pass-nodes.ts'
import {
  type ClaimPlace,
  ClaimQueue,
  emptyClaim,
  leavesOpen,
  type NodePlace,
  nothingHeld,
  type Place,
} from './places.ts'
import {
  allowedOn,
  allowsHostname,
  choiceOf,
  type Level,
  type LevelSource,
  levelOf,
  type Shape,
  withoutRules,
} from './pod-shapes.ts'
import type { SolverBase } from './solver-base.ts'
import { type Alternative, alternativesOf, questionOf, type Waiting, WaitingPods } from './waiting-pods.ts'

const always = () => true

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
  readonly base: SolverBase
  readonly sets: RequirementSets
  readonly amounts: Amounts
  readonly topology: TopologyIndex
  readonly pools: readonly PoolIndex[]
  /** Pools that can have new nodes at all, in the order in which they are tried. */
  readonly templates: readonly PoolIndex[]
  readonly claims: ClaimPlace[] = []
  readonly failed = new Set<Waiting>()
  /** What became of pods with many constraints, where they are in neither list. */
  heavyPods = noHeavyPods
  readonly wellKnown: ReadonlySet<string>
  readonly options: SchedulingOptions
  readonly levels: LevelSource
  readonly reservations: Reservations | undefined
  readonly #pods: readonly Pod[]
  readonly #maxNewClaims: number
  readonly #nodes: PassNodes
  readonly #queue = new ClaimQueue()
  readonly #waiting: WaitingPods
  /** Grows with each placement: what failed at this number fails again. */
  #placements = 0
  readonly #failedAt = new Map<string, number>()
  #places = 0
  /** Requests of the claim that is looked at, with the pod's. */
  readonly #scratch: Float64Array
  #hostnames = 0

  constructor(base: SolverBase, change: Change = noChange(base)) {
    this.base = base
    const { sets, amounts, wellKnown, options, classes } = base
    this.sets = sets
    this.amounts = amounts
    this.wellKnown = wellKnown
    this.options = options
    this.#pods = change.pods
    this.#maxNewClaims = change.maxNewClaims ?? Number.POSITIVE_INFINITY
    this.#scratch = new Float64Array(amounts.size)
    this.pools = base.pools.map((pool) => new PoolIndex(pool, change.removed))
    this.templates = this.pools.filter(({ usable }) => usable.some((word) => word !== 0))
    this.topology = new TopologyIndex(base.topology, change.gone)
    this.#nodes = new PassNodes(base, change.removed, change.barred?.places)
    this.reservations = base.reservations?.fresh()
    const { podVolumes, apart } = base.snapshot
    this.#waiting = new WaitingPods({
      sets,
      classes,
      podVolumes,
      barred: change.barred?.pods,
      apart,
      inHand: options.inHand,
    })
    this.levels = {
      maker: base.levels,
      facet: (facts) => this.#waiting.facet(facts),
      labelClass: (facts) => this.topology.labelClass(facts),
    }
  }

  /** Nodes that have received pods, in the order in which nodes are tried. */
  get nodes(): readonly NodePlace[] {
    return this.#nodes.filled
  }

  /** Places what it can. Returns whether `shouldStop` or the number of claims ended it. */
  run(): boolean {
    const waiting = this.#waiting.inOrder(this.#pods, this.amounts)
    const heavy = waiting.filter(({ isHeavy }) => isHeavy)
    const late = new Set(heavy.map(({ shape }) => shape))
    for (const shape of this.#waiting.shapes) if (shape.stated && !late.has(shape)) this.#state(shape)
    this.topology.knowHosts(() => this.#nodes.hosts)
    const isStopped = this.#placeAll(heavy.length === 0 ? waiting : waiting.filter(({ isHeavy }) => !isHeavy))
    if (!isStopped && heavy.length > 0) this.heavyPods = this.#placeHeavy(heavy)
    this.options.inHand?.(undefined)
    return isStopped
  }

  #placeHeavy(heavy: readonly Waiting[]): HeavyPods {
    const stated = new Set<Shape>()
    const mayGoOn = this.options.heavyPodsBegin?.() ?? always
    return placeHeavy(heavy, mayGoOn, (one) => {
      if (one.shape.stated && !stated.has(one.shape)) this.#state(one.shape)
      stated.add(one.shape)
      const answer = this.#place(one, mayGoOn)
      if (answer === 'refused') this.failed.add(one)
      return answer
    })
  }

  /** Those that failed are tried again for as long as others find a place. */
  #placeAll(waiting: readonly Waiting[]): boolean {
    for (let queue = waiting; queue.length > 0; ) {
      const failed: Waiting[] = []
      for (const one of queue) {
        if (one.triedAt === this.#placements) return false
        if (this.claims.length > this.#maxNewClaims || this.options.shouldStop?.() === true) return true
        if (this.#place(one) === 'placed') this.failed.delete(one)
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
    shape.inverse = this.topology.inverseOf(shape.facts)
    shape.stated = true
  }

  /** Gives up one wish after the other until there is a place. */
  #place(one: Waiting, mayGoOn = always): Placement {
    this.options.inHand?.(one.pod)
    if (one.hopeless !== undefined) return 'refused'
    const key = one.volumes === undefined ? questionOf(one) : undefined
    if (key !== undefined && this.#failedAt.get(key) === this.#placements) return 'refused'
    for (let number = 0; ; number++) {
      if (!mayGoOn()) return 'stopped'
      const level = levelOf(one.shape, number, this.levels)
      if (level === undefined) break
      one.triedBare = number === 0 && !one.shape.stated
      const answer = this.#attempt(one, one.triedBare ? withoutRules(level) : level)
      if (answer === 'placed') {
        this.#placements += 1
        return 'placed'
      }
      if (one.triedBare) one.shape.inverse = this.topology.inverseOf(one.shape.facts)
      if (answer === 'wait') break
    }
    if (key !== undefined) this.#failedAt.set(key, this.#placements)
    return 'refused'
  }

  #attempt(one: Waiting, level: Level): 'placed' | 'refused' | 'wait' {
    if (!this.#isHopeless(level)) {
      if (this.#tryNodes(one, level)) return 'placed'
      if (this.#tryClaims(one, level)) return 'placed'
    }
    return this.#open(one, level)
  }

  /** Whether a group leaves no domain anywhere, whatever the place. */
  #isHopeless(level: Level): boolean {
    for (const concern of this.topology.concerning(level))
      if (!concern.group.isHostname && choiceOf(concern, undefined) === undefined) return true
    return false
  }

  #tryNodes(one: Waiting, level: Level): boolean {
    const { facet } = level
    const { requested } = one
    const candidates = this.base.candidates(facet.facts, requested.facts)
    for (let at = this.#nodes.firstOf(candidates, facet, requested); ; at++) {
      const number = candidates.at(at)
      if (number === undefined) return false
      const place = this.#nodes.placeFor(number, one.isBarred)
      if (place !== undefined && this.#tryNode(place, number, one, level)) return true
    }
  }

  /** `number`: where the node stands among all. */
  #tryNode(place: NodePlace, number: number, one: Waiting, level: Level): boolean {
    const { facet } = level
    if (facet.refused.has(place.number) || one.requested.refused.has(place.number)) return false
    if (!fits(one.requested.vector, place.free)) {
      one.requested.refused.add(place.number)
      return false
    }
    const base = this.#admitted(place, level, 'strict')
    if (base === undefined || !allowsHostname(level, place.hostname)) return false
    if (!this.#portsFree(place, level) || exceedsLimits(place, one)) return false
    for (const alternative of alternativesOf(one, place.hostname)) {
      const set = this.#narrowed(place, level, base, alternative, 'strict')
      if (set === undefined || !leavesOpen(place, set)) continue
      const filled = place.number < 0 ? this.#nodes.fill(number, this.#places++) : place
      filled.set = set
      filled.free = filled.free.map((amount, at) => amount - (one.requested.vector[at] as number))
      this.#settle(filled, one, level)
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
        if (byFacet[claim.number] === 1 || byRequests[claim.number] === 1 || claim.apart !== one.apart) continue
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
      const claim = this.#newClaim(pool, types, one.apart)
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

  #newClaim(pool: PoolIndex, types: Bits, apart: string | undefined): ClaimPlace {
    const hostname = `hostname-placeholder-${String(this.#hostnames + 1).padStart(4, '0')}`
    const host = this.topology.host(hostname)
    const taintList = this.base.taintList(pool.taints)
    return emptyClaim(pool, { hostname, host, taintList, types, apart, requests: new Float64Array(this.amounts.size) })
  }

  /** Whether a claim can take the pod beside those that it has (reference/karpenter-core.md 3.5). */
  #fit(claim: ClaimPlace, one: Waiting, level: Level, relaxMinValues: boolean): Fit | 'refused' | 'wait' {
    const base = this.#admitted(claim, level, 'claim')
    if (base === undefined || !allowsHostname(level, claim.hostname) || !this.#portsFree(claim, level)) return 'refused'
    const { pool } = claim
    const requests = this.#scratch
    for (let at = 0; at < requests.length; at++)
      requests[at] = (claim.requests[at] as number) + (one.requested.vector[at] as number)
    if (!pool.hasRoom(claim.types, requests)) {
      one.requested.refused.add(claim.number)
      return 'refused'
    }
    const types = attachable(claim, one)
    if (types === undefined) return 'refused'
    let answer: 'refused' | 'wait' = 'refused'
    for (const alternative of alternativesOf(one, claim.hostname)) {
      answer = 'refused'
      const set = this.#narrowed(claim, level, base, alternative, 'claim')
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
        narrowed = this.sets.withMinValues(set, unsatisfied)
        minValuesRelaxed = true
      }
    }
    if (this.reservations === undefined || !claim.pool.hasReserved)
      return { set: narrowed, types, reserved: nothingHeld, minValuesRelaxed }
    const answer = this.reservations.ask(claim.hostname, left(), narrowed.map)
    if (answer.kind === 'refused') return answer.isDeferred ? 'wait' : 'refused'
    return { set: narrowed, types, reserved: answer.ids, minValuesRelaxed }
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
    attach(place, one)
    if (place.isClaim) this.topology.registerHost(place.host)
    this.topology.record(level.labelClass, one.shape.inverse, place.set, place)
  }

  /** The place's requirements with the pod's, if its taints and labels admit the pod. A refusal that stays is remembered. */
  #admitted(place: Place, level: Level, mode: MergeMode): RequirementSet | undefined {
    const { facet } = level
    const merged: Merge = toleratesAll(place, facet.facts)
      ? this.sets.merged(place.set, facet.facts.wanted, mode)
      : 'disjoint'
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
    mode: MergeMode,
  ): RequirementSet | undefined {
    if (alternative === 'elsewhere') return undefined
    const reached = alternative === undefined ? base : this.sets.merged(base, alternative, mode)
    if (typeof reached === 'string') return undefined
    let chosen: RequirementSet | undefined
    for (const concern of this.topology.concerning(level)) {
      const { group, pod, selectsItself } = concern
      if (group.isHostname) {
        if (!group.allowsHost(place.host, pod, selectsItself)) return undefined
        continue
      }
      const choice = choiceOf(concern, reached.map.get(group.key))
      if (choice === 'any') continue
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
}
