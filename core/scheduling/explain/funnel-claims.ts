import { type InstanceType, isLaunchable, type Offering } from '../../instance-type.ts'
import { intersects } from '../../requirements/requirement.ts'
import { isCompatible } from '../../requirements/requirements.ts'
import { mergeResources } from '../../resources.ts'
import { addBit, allBits, type Bits, hasBit, noBits } from '../offerings/bits.ts'
import type { RequirementSet } from '../offerings/requirement-sets.ts'
import type { ClaimPlace } from '../solver/places.ts'
import type { FinishedPass } from './finished-pass.ts'
import { type Funnel, funnelOf, nearestByRoom, shortKey, shortly, TypeQuestions } from './funnel-types.ts'

/** Cheaper types with the reason that excludes all of them. */
export interface CheaperTypes {
  readonly count: number
  /** The cheapest of them. */
  readonly example: string
  readonly price: number
  readonly reason: string
}

/** Why a new NodeClaim names its types. */
export interface ClaimReasons {
  readonly funnel: Funnel
  /** Types that the claim names, of those that were left. */
  readonly named: number
  readonly cheapest: { readonly type: string; readonly price: number }
  /** By reason, those with the most types first. */
  readonly cheaper: readonly CheaperTypes[]
}

interface Cheaper {
  readonly type: number
  readonly price: number
}

/** Explains claims of a finished pass. */
export class ClaimFunnels {
  readonly #pass: FinishedPass
  readonly #questions: TypeQuestions

  constructor(pass: FinishedPass) {
    this.#pass = pass
    this.#questions = new TypeQuestions(pass)
  }

  of(claim: ClaimPlace, named: readonly string[], price: number): ClaimReasons {
    const { pool, set, requests, types } = claim
    const stages = this.#questions.ask(pool, set, { requests, within: allBits(pool.index.types.length) })
    return {
      funnel: funnelOf(pool, { ...stages, limits: types }),
      named: named.length,
      cheapest: { type: named[0] ?? '', price },
      cheaper: this.#cheaper(claim, stages.requirements, price),
    }
  }

  #cheaper(claim: ClaimPlace, meeting: Bits, price: number): readonly CheaperTypes[] {
    const { pool } = claim
    const { lowest, order } = pool.index.prices.pricesFor(pool.set)
    const cheaper = order
      .filter((type) => hasBit(pool.usable, type) && (lowest[type] as number) < price)
      .map((type): Cheaper => ({ type, price: lowest[type] as number }))
    const byReason = Map.groupBy(cheaper, (one) => this.#reason(claim, meeting, one))
    return [...byReason]
      .map(([reason, all]) => {
        const [first] = all as [Cheaper]
        return { count: all.length, example: this.#name(claim, first.type), price: first.price, reason }
      })
      .sort((a, b) => b.count - a.count || a.price - b.price)
  }

  #name({ pool }: ClaimPlace, type: number): string {
    return (pool.index.types[type] as InstanceType).name
  }

  #reason(claim: ClaimPlace, meeting: Bits, { type, price }: Cheaper): string {
    const { pool, set, requests, types } = claim
    const one = pool.index.types[type] as InstanceType
    if (!hasBit(meeting, type)) return `their pods need ${this.#clash(one, set)}`
    const slots = pool.index.slots.flatMap(({ type: of }, slot) => (of === type ? [slot] : []))
    if (!slots.some((slot) => this.#questions.hasRoom(pool, slot, requests))) return this.#lack(claim, type)
    const offered = one.offerings.find((offering) => isLaunchable(offering) && offering.price === price)
    const clash = offered === undefined ? undefined : this.#offeringClash(offered, set)
    if (clash !== undefined) return `that price is for ${clash}`
    return hasBit(types, type)
      ? 'that price is for an offering that the claim does not use'
      : 'limits, host ports or volumes ruled them out'
  }

  /** Returns the requirement that a type's labels do not meet. */
  #clash({ requirements }: InstanceType, set: RequirementSet): string {
    for (const [key, wanted] of [...set.map].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const own = requirements.get(key)
      if (own !== undefined && !intersects(own, wanted)) return shortly(wanted)
    }
    return 'other labels'
  }

  #offeringClash({ requirements }: Offering, set: RequirementSet): string | undefined {
    if (isCompatible(set.map, requirements, this.#pass.wellKnown)) return undefined
    for (const [key, offered] of requirements) {
      const wanted = set.map.get(key)
      if (wanted !== undefined && !intersects(wanted, offered))
        return `${shortKey(key)} ${[...offered.values].join(', ')}; their pods need ${shortly(wanted)}`
    }
    return undefined
  }

  /** Returns the short resources, grouped by their names only. */
  #lack({ pool, pods }: ClaimPlace, type: number): string {
    const only = noBits(pool.index.types.length)
    addBit(only, type)
    const lacks = nearestByRoom(pool, only, mergeResources(...pods.map(({ requests }) => requests)))?.lacks ?? {}
    return `too little ${Object.keys(lacks).join(' and ')}`
  }
}
