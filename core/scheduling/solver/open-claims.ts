import { minValues } from '../../instance-type.ts'
import { type Bits, keep, membersOf } from '../offerings/bits.ts'
import type { PoolIndex } from '../offerings/pool-index.ts'
import type { RequirementSet } from '../offerings/requirement-sets.ts'
import { allowedOn } from '../topology/concern.ts'
import { attachable } from './attachments.ts'
import type { PassContext } from './pass-context.ts'
import type { Attempt, PlaceRules } from './place-rules.ts'
import { type ClaimPlace, ClaimQueue, emptyClaim, nothingHeld } from './places.ts'
import { allowsHostname } from './pod-shapes.ts'
import { alternativesOf } from './waiting-pods.ts'

/** Where a pod fits, and the changes of the place. */
interface Fit {
  readonly set: RequirementSet
  readonly types: Bits
  readonly reserved: ReadonlySet<string>
  readonly minValuesRelaxed: boolean
}

/** The claims that a pass has opened. Places pods on them or on new ones. */
export class OpenClaims {
  /** In the order in which they were opened. */
  readonly all: ClaimPlace[] = []
  readonly #context: PassContext
  readonly #rules: PlaceRules
  /** Pools that can have new nodes at all, in the order in which they are tried. */
  readonly #templates: readonly PoolIndex[]
  readonly #queue = new ClaimQueue()
  /** Requests of the claim being tried, with the pod's. */
  readonly #scratch: Float64Array
  /** Places of the pass, nodes among them. */
  readonly #places: { count: number }
  #hostnames = 0

  constructor(context: PassContext, rules: PlaceRules, places: { count: number }) {
    this.#context = context
    this.#rules = rules
    this.#places = places
    this.#templates = context.pools.filter(({ isUsable }) => isUsable)
    this.#scratch = new Float64Array(context.amounts.size)
  }

  /** Places the pod on an open claim, those with the fewest pods first. Most are skipped by earlier results. */
  place(attempt: Attempt): boolean {
    const { one, level } = attempt
    const concerns = this.#context.topology.concerning(level)
    for (const { group, selectsItself } of concerns) if (group.refusesAll(this.all.length, selectsItself)) return false
    const hosts = concerns.filter(({ group }) => group.isHostname)
    const byFacet = level.facet.refused.upTo(this.#places.count)
    const byRequests = one.requested.refused.upTo(this.#places.count)
    for (let pods = 1; pods <= this.#queue.most; pods++) {
      for (let claim = this.#queue.first(pods); claim !== undefined; claim = claim.after) {
        if (byFacet[claim.number] === 1 || byRequests[claim.number] === 1 || claim.apart !== one.apart) continue
        if (hosts.length > 0 && !allowedOn(claim.host, hosts)) continue
        const fit = this.#fit(claim, attempt)
        if (typeof fit === 'string') continue
        this.#add(claim, attempt, fit)
        this.#queue.promote(claim)
        return true
      }
    }
    return false
  }

  /** Opens a claim for the pod, of the first pool that can have one; `wait`: the pod waits for a reservation. */
  open(attempt: Attempt): 'placed' | 'refused' | 'wait' {
    for (const pool of this.#templates) {
      if (pool.nodesExhausted) continue
      const types = pool.withinLimits
      if (types.every((word) => word === 0)) continue
      const claim = this.#newClaim(pool, types, attempt.one.apart)
      const fit = this.#fit(claim, attempt)
      if (fit === 'wait') return 'wait'
      if (typeof fit === 'string') continue
      this.#hostnames += 1
      claim.number = this.#places.count++
      this.#add(claim, attempt, fit)
      this.all.push(claim)
      this.#queue.add(claim)
      pool.minValuesRelaxed = fit.minValuesRelaxed
      pool.spend(claim.types)
      return 'placed'
    }
    return 'refused'
  }

  #newClaim(pool: PoolIndex, types: Bits, apart: string | undefined): ClaimPlace {
    const { base, topology, amounts } = this.#context
    const hostname = `hostname-placeholder-${String(this.#hostnames + 1).padStart(4, '0')}`
    const host = topology.host(hostname)
    const taintList = base.taintList(pool.taints)
    return emptyClaim(pool, { hostname, host, taintList, types, apart, requests: new Float64Array(amounts.size) })
  }

  /** Whether a claim can take the pod beside its own (reference/karpenter-core.md 3.5). */
  #fit(claim: ClaimPlace, { one, level }: Attempt): Fit | 'refused' | 'wait' {
    const rules = this.#rules
    const base = rules.admitted(claim, level)
    if (base === undefined || !allowsHostname(level, claim.hostname) || !rules.portsFree(claim, level)) return 'refused'
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
      const reached = rules.reached(claim, base, alternative)
      const set = reached && rules.narrowed(claim, level, reached)
      if (set === undefined) continue
      const left = pool.slotsFor(types, set, requests)
      if (left === undefined) continue
      if (level.pod.hostPorts.length > 0 && !keep(left, pool.withoutPorts(level.pod.hostPorts))) continue
      const fit = this.#reserve(claim, set, left)
      if (typeof fit !== 'string') return fit
      answer = fit
    }
    return answer
  }

  #reserve(claim: ClaimPlace, set: RequirementSet, types: Bits): Fit | 'refused' | 'wait' {
    const { options, sets, reservations } = this.#context
    let narrowed = set
    let minValuesRelaxed = false
    const all = claim.pool.index.types
    const left = () => membersOf(types).map((type) => all[type] as (typeof all)[number])
    if (set.hasMinValues) {
      const { unsatisfied } = minValues(left(), set.map)
      if (unsatisfied.size > 0) {
        // Applies only when a claim is opened.
        if (claim.number >= 0 || options.minValuesPolicy !== 'BestEffort') return 'refused'
        narrowed = sets.withMinValues(set, unsatisfied)
        minValuesRelaxed = true
      }
    }
    if (reservations === undefined || !claim.pool.hasReserved)
      return { set: narrowed, types, reserved: nothingHeld, minValuesRelaxed }
    const answer = reservations.ask(claim.hostname, left(), narrowed.map)
    if (answer.kind === 'refused') return answer.isDeferred ? 'wait' : 'refused'
    return { set: narrowed, types, reserved: answer.ids, minValuesRelaxed }
  }

  #add(claim: ClaimPlace, attempt: Attempt, fit: Fit): void {
    const { vector } = attempt.one.requested
    claim.set = fit.set
    claim.types = fit.types
    for (let at = 0; at < claim.requests.length; at++)
      claim.requests[at] = (claim.requests[at] as number) + (vector[at] as number)
    this.#context.reservations?.hold(claim.hostname, fit.reserved)
    claim.reserved = fit.reserved
    this.#rules.settle(claim, attempt)
  }
}
