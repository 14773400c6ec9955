import type { InstanceType, Overhead } from '../../core/instance-type.ts'
import type { RequirementSpec } from '../../core/objects.ts'
import { requirements } from '../../core/requirements.ts'
import { parseResources } from '../../core/resources.ts'
import { requirement } from './object-shapes.ts'
import { flag, list, map, number, quantity, record, text, wholeNumber } from './shape.ts'

type Amounts = Record<string, string | number>
type OverheadJson = { readonly [Part in keyof Overhead]: Amounts }

/** An instance type as scenarios and catalogues write it. */
export interface TypeJson {
  readonly name: string
  readonly requirements?: readonly RequirementSpec[]
  readonly offerings?: readonly {
    readonly requirements?: readonly RequirementSpec[]
    readonly price?: number
    readonly available?: boolean
    readonly reservationCapacity?: number
    readonly capacityOverride?: Amounts
    readonly overheadOverride?: OverheadJson
  }[]
  readonly capacity?: Amounts
  readonly overhead?: OverheadJson
  readonly volumeAttachmentLimits?: Readonly<Record<string, number>>
}

const amounts = map(quantity)
const overhead = record({ kubeReserved: amounts, systemReserved: amounts, evictionThreshold: amounts })

export const typeShape = record(
  {
    name: text,
    requirements: list(requirement),
    offerings: list(
      record({
        requirements: list(requirement),
        price: number,
        available: flag,
        reservationCapacity: wholeNumber,
        capacityOverride: amounts,
        overheadOverride: overhead,
      }),
    ),
    capacity: amounts,
    overhead,
    volumeAttachmentLimits: map(wholeNumber),
  },
  ['name'],
)

export function instanceType(json: TypeJson): InstanceType {
  const { name, volumeAttachmentLimits } = json
  return {
    name,
    requirements: requirements(json.requirements ?? []),
    offerings: (json.offerings ?? []).map(({ capacityOverride, overheadOverride, ...offering }) => ({
      requirements: requirements(offering.requirements ?? []),
      price: offering.price ?? 0,
      available: offering.available ?? false,
      reservationCapacity: offering.reservationCapacity ?? 0,
      ...(capacityOverride === undefined ? {} : { capacityOverride: parseResources(capacityOverride) }),
      ...(overheadOverride === undefined ? {} : { overheadOverride: overheadOf(overheadOverride) }),
    })),
    capacity: parseResources(json.capacity),
    overhead: overheadOf(json.overhead ?? {}),
    ...(volumeAttachmentLimits === undefined ? {} : { volumeAttachmentLimits }),
  }
}

function overheadOf({ kubeReserved, systemReserved, evictionThreshold }: OverheadJson): Overhead {
  return {
    kubeReserved: parseResources(kubeReserved),
    systemReserved: parseResources(systemReserved),
    evictionThreshold: parseResources(evictionThreshold),
  }
}
