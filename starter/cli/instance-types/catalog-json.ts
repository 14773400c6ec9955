import { allocatable } from '../../../core/instance-type.ts'
import type { RequirementSpec } from '../../../core/objects.ts'
import { wellKnownLabels } from '../../../core/requirements/labels.ts'
import { operatorOf, type Requirement, sortedValues } from '../../../core/requirements/requirement.ts'
import type { Requirements } from '../../../core/requirements/requirements.ts'
import { formatResources } from '../../../core/resources.ts'
import type { ListedType } from './listed-type.ts'

/** The types as `joiner simulate --catalog` takes them, with what is allocatable and the OS disk beside it. */
export function catalogJson(listed: readonly ListedType[]) {
  return {
    instanceTypes: listed.map(({ type, offerings, price, osDisk }) => ({
      name: type.name,
      ...(price === undefined ? {} : { price }),
      requirements: specs(type.requirements),
      offerings: offerings.map((offering) => ({
        requirements: specs(offering.requirements),
        price: offering.price,
        available: offering.available,
      })),
      capacity: formatResources(type.capacity),
      allocatable: formatResources(allocatable(type)),
      osDisk,
      overhead: Object.fromEntries(
        Object.entries(type.overhead).map(([part, resources]) => [part, formatResources(resources)]),
      ),
    })),
    wellKnownLabels: [...wellKnownLabels],
  }
}

const specs = (sets: Requirements) => [...sets.values()].map(spec)

function spec(set: Requirement): RequirementSpec {
  const operator = operatorOf(set)
  return operator === 'In' ? { key: set.key, operator, values: sortedValues(set) } : { key: set.key, operator }
}
