import type { InstanceTypeJson } from '../../../api/shapes/scenario.ts'
import type { InstanceType, Overhead } from '../../../core/instance-type.ts'
import type { RequirementSpec } from '../../../core/objects.ts'
import { type Requirements, requirements } from '../../../core/requirements/requirements.ts'
import { parseResources } from '../../../core/resources.ts'

type OverheadAmounts = NonNullable<InstanceTypeJson['overhead']>

/** The types of one file. Most offerings require what others do too: these share their requirements, which are then looked at once. */
export function instanceTypes(types: readonly InstanceTypeJson[]): InstanceType[] {
  const known = new Map<string, Requirements>()
  const shared = (specs: readonly RequirementSpec[]): Requirements => {
    const text = JSON.stringify(specs)
    const set = known.get(text) ?? requirements(specs)
    known.set(text, set)
    return set
  }
  return types.map((type) => instanceType(type, shared))
}

function instanceType(
  json: InstanceTypeJson,
  shared: (specs: readonly RequirementSpec[]) => Requirements,
): InstanceType {
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

function overheadOf({ kubeReserved, systemReserved, evictionThreshold }: OverheadAmounts): Overhead {
  return {
    kubeReserved: parseResources(kubeReserved),
    systemReserved: parseResources(systemReserved),
    evictionThreshold: parseResources(evictionThreshold),
  }
}
