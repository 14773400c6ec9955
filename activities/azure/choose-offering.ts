import {
  allocatable,
  capacityTypeOf,
  type InstanceType,
  type Offering,
  typeMatches,
  zoneOf,
} from '../../core/instance-type.ts'
import { wellKnownLabels } from '../../core/labels.ts'
import { isCompatible, type Requirements } from '../../core/requirements.ts'
import { fits, type Resources } from '../../core/resources.ts'

export interface Choice {
  readonly instanceType: InstanceType
  readonly offering: Offering
  readonly zone: string
  readonly capacityType: string
}

/**
 * The cheapest offering that a claim can use: by price, then spot before on-demand, zonal before regional, type name, and among equal
 * zones one that the claim's UID picks, so that equal claims spread (reference/azure-provider.md 4.2, 4.3).
 */
export function chooseOffering(
  types: readonly InstanceType[],
  claim: { readonly uid: string; readonly requirements: Requirements; readonly requests: Resources },
): Choice | undefined {
  let best: Choice | undefined
  for (const instanceType of types) {
    if (!typeMatches(instanceType, claim.requirements)) continue
    let roomy: boolean | undefined
    for (const offering of instanceType.offerings) {
      if (!offering.available || (best !== undefined && offering.price > best.offering.price)) continue
      if (!isCompatible(claim.requirements, offering.requirements, wellKnownLabels)) continue
      roomy ??= fits(claim.requests, allocatable(instanceType))
      if (!roomy) break
      const choice = { instanceType, offering, zone: zoneOf(offering), capacityType: capacityTypeOf(offering) }
      if (best === undefined || isBetter(choice, best, claim.uid)) best = choice
    }
  }
  return best
}

function isBetter(a: Choice, b: Choice, uid: string): boolean {
  if (a.offering.price !== b.offering.price) return a.offering.price < b.offering.price
  if (a.capacityType !== b.capacityType) return a.capacityType === 'spot'
  if ((a.zone === '0') !== (b.zone === '0')) return b.zone === '0'
  if (a.instanceType.name !== b.instanceType.name) return a.instanceType.name < b.instanceType.name
  return spread(uid, a.zone) < spread(uid, b.zone)
}

/** A number that depends on claim and zone alone. */
function spread(uid: string, zone: string): number {
  let hash = 2166136261
  for (const char of `${zone}/${uid}`) hash = Math.imul(hash ^ char.charCodeAt(0), 16777619)
  return hash >>> 0
}
