import type { NodeClass } from '../../../api/objects.ts'
import type { InstanceType } from '../../../core/instance-type.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { requirements } from '../../../core/requirements/requirements.ts'
import { chooseOffering, type OfferingTest, reservationIn, type Wanted } from '../capacity/choose-offering.ts'
import type { LaunchOutcome } from '../contract.ts'
import { type ResolvedImage, selectImage } from '../node-class/images.ts'
import { type Chosen, requiresUltraSsd } from '../node-config/node-labels.ts'
import type { CapacityReservations } from '../reservations/capacity-reservations.ts'

export type LaunchChoice =
  | {
      readonly kind: 'chosen'
      readonly chosen: Chosen & { readonly instanceType: InstanceType }
      readonly image: ResolvedImage
    }
  | (LaunchOutcome & { readonly kind: 'exhausted' | 'nodeClassNotReady' })

interface LaunchRequest {
  readonly claim: Pick<NodeClaim, 'metadata' | 'spec'>
  readonly nodeClass: NodeClass
  /** Which offerings are chosen before all others, the strictest first. */
  readonly preferences?: readonly OfferingTest[]
  /** Which offerings may be chosen at all. Unset: every one. */
  readonly accepts?: OfferingTest
  /** What it knows about capacity reservations. Unset: it may use none. */
  readonly reservations?: Pick<CapacityReservations, 'hasRoom' | 'offeredTo'>
}

/**
 * Returns the best offering for a claim among the types that the node class has an image for, or why there is none: `whyNothing` explains why no
 * offering is left.
 */
export function chooseLaunch(
  types: readonly InstanceType[],
  { claim, nodeClass, preferences = [], accepts = () => true, reservations }: LaunchRequest,
  whyNothing: (wanted: Wanted) => string = () => 'all requested instance types were unavailable during launch',
): LaunchChoice {
  const { metadata, spec } = claim
  const wanted = requirements(spec.requirements)
  const { images } = nodeClass.status
  const offered = new Map(reservations?.offeredTo(nodeClass).map((one) => [one.id, one]))
  const fitsInto = (id: string) => offered.has(id) && reservations?.hasRoom(id, metadata.name) === true
  const request = { uid: metadata.uid, requirements: wanted, requests: spec.requests, fitsInto }
  const bootable = types.filter((type) => selectImage(images, type) !== undefined)
  let choice: ReturnType<typeof chooseOffering>
  for (const preference of [...preferences, () => true])
    choice ??= chooseOffering(bootable, {
      ...request,
      accepts: (offering, type) => accepts(offering, type) && preference(offering, type),
    })
  const image = choice && selectImage(images, choice.instanceType)
  if (choice === undefined || image === undefined) {
    const without = chooseOffering(types, { ...request, accepts })
    if (without === undefined) return { kind: 'exhausted', message: whyNothing(request) }
    return {
      kind: 'nodeClassNotReady',
      message: `AKSNodeClass ${nodeClass.metadata.name}: status.images has none for ${without.instanceType.name}; choose another imageFamily or other instance types`,
    }
  }
  const { instanceType, zone, capacityType, offering } = choice
  const reservation = offered.get(reservationIn(offering) ?? '')
  const chosen = {
    typeName: instanceType.name,
    instanceType,
    zone,
    capacityType,
    ultraSsd: requiresUltraSsd(wanted),
    ...(reservation === undefined ? {} : { reservation }),
  }
  return { kind: 'chosen', chosen, image }
}
