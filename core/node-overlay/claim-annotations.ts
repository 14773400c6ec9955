import type { InstanceType } from '../instance-type.ts'

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
