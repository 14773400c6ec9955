import {
  capacityTypeOf,
  cheapestPrice,
  compatibleOfferings,
  type InstanceType,
  isLaunchable,
  minValues,
  typeNamed,
  worstLaunchPrice,
} from '../instance-type.ts'
import { labels } from '../requirements/labels.ts'
import { allows, inValues } from '../requirements/requirement.ts'
import { merge, type Requirements } from '../requirements/requirements.ts'
import type { PlannedNodeClaim } from '../scheduling/snapshot.ts'
import { specsOf } from '../scheduling/solver/planned-claims.ts'

/** A new node that is being fitted into a price limit. */
export interface Replacement {
  readonly claim: PlannedNodeClaim
  readonly wanted: Requirements
  /** Cheapest first. */
  readonly types: readonly InstanceType[]
}

export interface Market {
  readonly instanceTypes: ReadonlyMap<string, readonly InstanceType[]>
  readonly wellKnown: ReadonlySet<string>
}

export type Priced =
  | { readonly kind: 'left'; readonly replacement: Replacement }
  /** Fewer types are left than minValues requires. */
  | { readonly kind: 'short'; readonly labels: readonly string[] }

export function replacementOf(claim: PlannedNodeClaim, { instanceTypes }: Market): Replacement {
  const offered = instanceTypes.get(claim.nodePool) ?? []
  return { claim, wanted: claim.wanted, types: claim.instanceTypes.flatMap((name) => typeNamed(offered, name) ?? []) }
}

export function allowsCapacityType({ wanted }: Pick<Replacement, 'wanted'>, capacityType: string): boolean {
  const own = wanted.get(labels.capacityType)
  return own === undefined || allows(own, capacityType)
}

/** Returns the replacement restricted to spot; types without a spot offering are left out. */
export function asSpot(replacement: Replacement): Replacement {
  return { ...replacement, wanted: merge(replacement.wanted, [inValues(labels.capacityType, ['spot'])]) }
}

/** Returns the replacement without types that are not sold as it requires. */
export function sold<Part extends Pick<Replacement, 'wanted' | 'types'>>(
  replacement: Part,
  { wellKnown }: Pick<Market, 'wellKnown'>,
): Part {
  const types = replacement.types.filter((type) =>
    compatibleOfferings(type, replacement.wanted, wellKnown).some(({ available }) => available),
  )
  return { ...replacement, types }
}

/** Returns the types whose highest price is below the limit (reference/karpenter-core.md 4.7). */
export function below(replacement: Replacement, price: number, { wellKnown }: Market): Priced {
  const { wanted } = replacement
  const types = replacement.types.filter((type) => launchPrice(type, wanted, wellKnown) < price)
  const short = [...minValues(types, wanted).unsatisfied.keys()].sort()
  return short.length === 0
    ? { kind: 'left', replacement: { ...replacement, types } }
    : { kind: 'short', labels: short }
}

/** Requirements of a pass are interned, so most replacements share them. */
const prices = new WeakMap<Requirements, Map<InstanceType, number>>()

function launchPrice(type: InstanceType, wanted: Requirements, wellKnown: ReadonlySet<string>): number {
  let known = prices.get(wanted)
  if (known === undefined) prices.set(wanted, (known = new Map()))
  let price = known.get(type)
  if (price === undefined) {
    price = worstLaunchPrice(type.offerings.filter(isLaunchable), wanted, wellKnown) ?? Number.POSITIVE_INFINITY
    known.set(type, price)
  }
  return price
}

/** Returns the NodeClaim to create, with the remaining types. */
export function finished({ claim, wanted, types }: Replacement, { wellKnown }: Market): PlannedNodeClaim {
  if (wanted === claim.wanted && types.length === claim.instanceTypes.length) return claim
  const names = types.map(({ name }) => name)
  const launchable = types.flatMap((type) => compatibleOfferings(type, wanted, wellKnown).filter(isLaunchable))
  const lowest = Math.min(...types.map((type) => cheapestPrice(type, wanted, wellKnown) ?? Number.POSITIVE_INFINITY))
  return {
    ...claim,
    wanted,
    requirements: specsOf(wanted, names, [...new Set(launchable.map(capacityTypeOf))].sort()),
    instanceTypes: names,
    price: Number.isFinite(lowest) ? lowest : 0,
  }
}
