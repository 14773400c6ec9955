import { type InstanceType, minValues } from '../../instance-type.ts'
import {
  claimLabels,
  maxInstanceTypes,
  staticClaimRequirements,
  templateOf,
} from '../../node-pool/node-claim-template.ts'
import type { RequirementSpec } from '../../objects.ts'
import { labels } from '../../requirements/labels.ts'
import { intersect, inValues, serialize } from '../../requirements/requirement.ts'
import { merge, type Requirements } from '../../requirements/requirements.ts'
import { mergeResources, minResources, type Resources } from '../../resources.ts'
import { hasBit } from '../offerings/bits.ts'
import type { PoolFacts } from '../offerings/pool-facts.ts'
import type { RequirementSet, RequirementSets } from '../offerings/requirement-sets.ts'
import type { PlannedNodeClaim, SchedulingOptions } from '../snapshot.ts'
import type { UnschedulableCause } from '../unschedulable.ts'
import type { ClaimPlace } from './places.ts'

export type Finished =
  | { readonly kind: 'claim'; readonly claim: PlannedNodeClaim }
  | { readonly kind: 'error'; readonly cause: UnschedulableCause }

/** Common parts of claims of one pool with the same requirements and types. */
type Common =
  | { readonly kind: 'claim'; readonly claim: Omit<PlannedNodeClaim, 'pods' | 'requests'> }
  | { readonly kind: 'error'; readonly cause: UnschedulableCause }

/** Makes NodeClaims from open claims. Many differ only in their pods and share the rest. */
export class ClaimFinisher {
  readonly #sets: RequirementSets
  readonly #options: SchedulingOptions
  readonly #common = new Map<PoolFacts, Map<string, Common>>()
  readonly #overheads = new Map<PoolFacts, Map<string, Resources>>()

  constructor(sets: RequirementSets, options: SchedulingOptions) {
    this.#sets = sets
    this.#options = options
  }

  /** Returns the NodeClaim, or why its pods must wait: its types had to be cut, and minValues does not hold for the rest. */
  finish(claim: ClaimPlace): Finished {
    const { pool, types } = claim
    const wanted = this.#withReservations(claim)
    const text = types.join()
    const common = memo(ofPool(this.#common, pool.facts), `${wanted.id}/${text}`, () =>
      this.#finishCommon(claim, wanted),
    )
    if (common.kind === 'error') return common
    const overhead = memo(ofPool(this.#overheads, pool.facts), text, () => daemonOverhead(claim))
    return {
      kind: 'claim',
      claim: {
        ...common.claim,
        requests: mergeResources(...claim.pods.map(({ requests }) => requests), overhead),
        pods: claim.pods,
        ...(pool.minValuesRelaxed ? { minValuesRelaxed: true } : {}),
      },
    }
  }

  /** A claim that holds reservations may use nothing else. */
  #withReservations({ set, reserved }: ClaimPlace): RequirementSet {
    if (reserved.size === 0) return set
    const map = new Map(set.map)
    map.set(labels.capacityType, inValues(labels.capacityType, ['reserved']))
    const label = this.#options.reservationIdLabel ?? labels.reservationId
    return this.#sets.intern(merge(map, [inValues(label, reserved)]))
  }

  #finishCommon({ pool, types: bits }: ClaimPlace, wanted: RequirementSet): Common {
    const { types, prices: list } = pool.index
    const prices = list.pricesFor(wanted)
    const max = this.#options.maxInstanceTypes ?? maxInstanceTypes
    const all = prices.order.filter((type) => hasBit(bits, type))
    const chosen = all.slice(0, max)
    const cut = chosen.length < all.length && this.#options.minValuesPolicy !== 'BestEffort'
    const short = cut
      ? shortOf(
          chosen.map((type) => types[type] as InstanceType),
          wanted.map,
        )
      : []
    if (short.length > 0)
      return { kind: 'error', cause: { kind: 'min-values-cut', nodePool: pool.name, labels: short } }
    let capacityBits = 0
    for (const type of chosen) capacityBits |= prices.launchable[type] as number
    const instanceTypes = chosen.map((type) => (types[type] as InstanceType).name)
    const lowest = chosen.length === 0 ? Number.POSITIVE_INFINITY : (prices.lowest[chosen[0] as number] as number)
    return {
      kind: 'claim',
      claim: {
        nodePool: pool.name,
        requirements: specsOf(
          wanted.map,
          instanceTypes,
          list.capacityTypes.filter((_, at) => (capacityBits & (1 << at)) !== 0),
        ),
        wanted: wanted.map,
        labels: claimLabels(templateOf(pool.option.nodePool), wanted.map),
        instanceTypes,
        price: Number.isFinite(lowest) ? lowest : 0,
      },
    }
  }
}

function ofPool<T>(all: Map<PoolFacts, Map<string, T>>, pool: PoolFacts): Map<string, T> {
  let own = all.get(pool)
  if (own === undefined) {
    own = new Map()
    all.set(pool, own)
  }
  return own
}

function memo<T>(all: Map<string, T>, key: string, make: () => T): T {
  let known = all.get(key)
  if (known === undefined) {
    known = make()
    all.set(key, known)
  }
  return known
}

/** Returns the entries of `spec.requirements`: the planned ones, the types that it may become and the capacity types that can be launched. */
export function specsOf(
  wanted: Requirements,
  types: readonly string[],
  capacityTypes: readonly string[],
): readonly RequirementSpec[] {
  const all = new Map(staticClaimRequirements(wanted))
  const narrow = (key: string, values: readonly string[]) => {
    const own = all.get(key)
    all.set(key, own === undefined ? inValues(key, values) : intersect(own, inValues(key, values)))
  }
  narrow(labels.instanceType, types)
  if (capacityTypes.length > 0) narrow(labels.capacityType, capacityTypes)
  return [...all.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, requirement]) => serialize(requirement))
}

function shortOf(types: readonly InstanceType[], wanted: Requirements): readonly string[] {
  return [...minValues(types, wanted).unsatisfied.keys()].sort()
}

/** Returns the lowest daemon requests on any of the remaining types. */
function daemonOverhead({ pool, types }: ClaimPlace): Resources {
  const alive = pool.groups.filter((group) => group.types.some((word, at) => (word & (types[at] as number)) !== 0))
  return minResources(...alive.map(({ overhead }) => overhead))
}
