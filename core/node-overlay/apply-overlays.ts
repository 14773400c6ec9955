import type { InstanceType, Offering } from '../instance-type.ts'
import type { NodeOverlay } from '../objects.ts'
import type { Resources } from '../resources.ts'
import {
  changesPrice,
  type OverlaidPool,
  overlaidPrice,
  poolRequirements,
  type ReadyOverlay,
  selectedOfferings,
} from './overlay-matching.ts'

/**
 * Returns a pool's types with the prices and resources of overlays that count; of several that change the same, the first. A type that no overlay
 * changes stays the same object. (Upstream drops an offering's own amounts when it changes the price; here they stay.)
 */
export function overlaidTypes(
  types: readonly InstanceType[],
  { pool, overlays }: { readonly pool: OverlaidPool; readonly overlays: readonly ReadyOverlay[] },
  wellKnown: ReadonlySet<string>,
): readonly InstanceType[] {
  if (overlays.length === 0) return types
  const set = poolRequirements(pool)
  const changed = types.map((type) => {
    const own = overlays.flatMap(({ overlay, wanted }) => {
      const selected = selectedOfferings(type, { pool: set, wanted }, wellKnown)
      return selected === undefined ? [] : [{ overlay, selected }]
    })
    return own.length === 0 ? type : overlaidType(type, own)
  })
  return changed.every((type, index) => type === types[index]) ? types : changed
}

interface Selecting {
  readonly overlay: NodeOverlay
  readonly selected: ReadonlySet<Offering>
}

function overlaidType(type: InstanceType, overlays: readonly Selecting[]): InstanceType {
  const capacity = overlays.reduceRight<Resources>((sum, { overlay }) => ({ ...sum, ...overlay.capacity }), {})
  const offerings = type.offerings.map((offering) => {
    const first = overlays.find(({ overlay, selected }) => changesPrice(overlay) && selected.has(offering))
    return first === undefined
      ? offering
      : { ...offering, price: overlaidPrice(offering.price, first.overlay), isPriceOverlaid: true as const }
  })
  const isCapacityChanged = Object.keys(capacity).length > 0
  if (!isCapacityChanged && offerings.every((offering, index) => offering === type.offerings[index])) return type
  return {
    ...type,
    offerings,
    ...(isCapacityChanged ? { capacity: { ...type.capacity, ...capacity }, isCapacityOverlaid: true as const } : {}),
  }
}

/** Returns the annotations of a NodeClaim that may become one of these types: it was planned with corrected prices or resources. */
export function overlayAnnotations(types: readonly InstanceType[]): Readonly<Record<string, string>> {
  return {
    ...(types.some(({ offerings }) => offerings.some(({ isPriceOverlaid }) => isPriceOverlaid === true))
      ? { 'karpenter.sh/price-overlay-applied': 'true' }
      : {}),
    ...(types.some(({ isCapacityOverlaid }) => isCapacityOverlaid === true)
      ? { 'karpenter.sh/capacity-overlay-applied': 'true' }
      : {}),
  }
}
