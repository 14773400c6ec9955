import {
  allocatable,
  capacityTypeOf,
  type InstanceType,
  isLaunchable,
  type Offering,
  typeMatches,
  zoneOf,
} from '../../../core/instance-type.ts'
import { labels, wellKnownLabels } from '../../../core/requirements/labels.ts'
import { isCompatible, type Requirements } from '../../../core/requirements/requirements.ts'
import { fits, type Resources } from '../../../core/resources.ts'

export interface Choice {
  readonly instanceType: InstanceType
  readonly offering: Offering
  readonly zone: string
  readonly capacityType: string
}

/** The fields of a NodeClaim that decide which offerings it can use. */
export interface Wanted {
  readonly uid: string
  readonly requirements: Requirements
  readonly requests: Resources
  /** Whether its VM fits into a capacity reservation. Unset: as many fit as the offering says. */
  readonly fitsInto?: (reservation: string) => boolean
  /** Whether it may be launched so. Unset: as anything that is sold. */
  readonly accepts?: OfferingTest
}

export type OfferingTest = (offering: Offering, instanceType: InstanceType) => boolean

/**
 * Returns the offering that a claim gets (reference/azure-provider.md 4.2, 4.3). It is found without ranking the rest, since each attempt of a launch
 * waits for it.
 */
export function chooseOffering(types: readonly InstanceType[], claim: Wanted): Choice | undefined {
  let best: Choice | undefined
  for (const instanceType of types) {
    if (!typeMatches(instanceType, claim.requirements)) continue
    let roomy: boolean | undefined
    for (const offering of instanceType.offerings) {
      if (!isSold(offering, claim) || (best !== undefined && offering.price > best.offering.price)) continue
      if (claim.accepts?.(offering, instanceType) === false) continue
      if (!isCompatible(claim.requirements, offering.requirements, wellKnownLabels)) continue
      roomy ??= fits(claim.requests, allocatable(instanceType))
      if (!roomy) break
      const choice = choiceOf(instanceType, offering)
      if (best === undefined || compare(choice, best, claim.uid) < 0) best = choice
    }
  }
  return best
}

/** A claim has a place in its reservation by itself: what other claims leave counts, not what is left after it. */
function isSold(offering: Offering, { fitsInto }: Wanted): boolean {
  const reservation = reservationIn(offering)
  return reservation === undefined || fitsInto === undefined
    ? isLaunchable(offering)
    : offering.available && fitsInto(reservation)
}

/** Returns the reservation that an offering is of; undefined when it is of none. */
export function reservationIn({ requirements }: Offering): string | undefined {
  return [...(requirements.get(labels.reservationId)?.values ?? [])][0]
}

function choiceOf(instanceType: InstanceType, offering: Offering): Choice {
  return { instanceType, offering, zone: zoneOf(offering), capacityType: capacityTypeOf(offering) }
}

/**
 * Compares by price, then spot before on-demand, zonal before regional, type name. Among equal zones the claim's UID picks one, so that
 * equal claims spread.
 */
function compare(a: Choice, b: Choice, uid: string): number {
  if (a.offering.price !== b.offering.price) return a.offering.price - b.offering.price
  if (a.capacityType !== b.capacityType) return a.capacityType === 'spot' ? -1 : 1
  if ((a.zone === '0') !== (b.zone === '0')) return a.zone === '0' ? 1 : -1
  if (a.instanceType.name !== b.instanceType.name) return a.instanceType.name < b.instanceType.name ? -1 : 1
  return spread(uid, a.zone) - spread(uid, b.zone)
}

/** Returns a number that depends on claim and zone alone. */
function spread(uid: string, zone: string): number {
  let hash = 2166136261
  for (const char of `${zone}/${uid}`) hash = Math.imul(hash ^ char.charCodeAt(0), 16777619)
  return hash >>> 0
}
