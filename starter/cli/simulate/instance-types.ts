import type { InstanceType, Overhead } from '../../../core/instance-type.ts'
import type { RequirementSpec } from '../../../core/objects.ts'
import { type Requirements, requirements } from '../../../core/requirements/requirements.ts'
import { parseResources } from '../../../core/resources.ts'
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

/** The types of one file. Most offerings require what others do too: these share their requirements, which are then looked at once. */
export function instanceTypes(types: readonly TypeJson[]): InstanceType[] {
  const known = new Map<string, Requirements>()
  const shared = (specs: readonly RequirementSpec[]): Requirements => {
    const text = JSON.stringify(specs)
    const set = known.get(text) ?? requirements(specs)
    known.set(text, set)
    return set
  }
  return types.map((type) => instanceType(type, shared))
}

function instanceType(json: TypeJson, shared: (specs: readonly RequirementSpec[]) => Requirements): InstanceType {
  const { name, volumeAttachmentLimits } = json
  return {
    name,
    requirements: requirements(json.requirements ?? []),
    offerings: (json.offerings ?? []).map(({ capacityOverride, overheadOverride, ...offering }) => ({
      requirements: shared(offering.requirements ?? []),
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
