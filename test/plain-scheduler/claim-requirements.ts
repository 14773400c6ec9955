import { cheapestPrice, compatibleOfferings, type InstanceType, isLaunchable } from '../../core/instance-type.ts'
import { maxInstanceTypes, staticClaimRequirements } from '../../core/node-pool/node-claim-template.ts'
import { labels, wellKnownLabels } from '../../core/requirements/labels.ts'
import { inValues } from '../../core/requirements/requirement.ts'
import { merge, type Requirements } from '../../core/requirements/requirements.ts'

/** Sorts types by their lowest launchable price, else in the order given; those that cannot be launched come last (reference/karpenter-1.15.md 1). */
export function orderByPrice(
  types: readonly InstanceType[],
  wanted: Requirements,
  wellKnown: ReadonlySet<string> = wellKnownLabels,
): readonly InstanceType[] {
  const priced = types.map((type) => ({
    type,
    price: cheapestPrice(type, wanted, wellKnown) ?? Number.POSITIVE_INFINITY,
  }))
  priced.sort((a, b) => (a.price === b.price ? 0 : a.price - b.price))
  return priced.map(({ type }) => type)
}

/**
 * Returns the requirements of a new NodeClaim: those planned, the types it may become (cheapest first, at most 600) and the capacity types that can
 * be launched (reference/karpenter-core.md 3.14).
 */
export function claimRequirements(
  planned: Requirements,
  types: readonly InstanceType[],
  wellKnown: ReadonlySet<string> = wellKnownLabels,
): Requirements {
  const ordered = orderByPrice(types, planned, wellKnown).slice(0, maxInstanceTypes)
  const named = inValues(
    labels.instanceType,
    ordered.map((type) => type.name),
  )
  const capacityTypes = launchableCapacityTypes(ordered, planned, wellKnown)
  return merge(staticClaimRequirements(planned), [
    named,
    ...(capacityTypes.size === 0 ? [] : [inValues(labels.capacityType, capacityTypes)]),
  ])
}

function launchableCapacityTypes(
  types: readonly InstanceType[],
  planned: Requirements,
  wellKnown: ReadonlySet<string>,
): ReadonlySet<string> {
  const found = new Set<string>()
  for (const type of types) {
    for (const offering of compatibleOfferings(type, planned, wellKnown)) {
      if (!isLaunchable(offering)) continue
      for (const value of offering.requirements.get(labels.capacityType)?.values ?? []) found.add(value)
    }
  }
  return found
}
