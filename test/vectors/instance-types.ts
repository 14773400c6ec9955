// Evaluators of the vector kinds about instance types and their prices.
import {
  allocatable,
  cheapestPrice,
  compatibleOfferings,
  type InstanceType,
  isLaunchable,
  minValues,
  worstLaunchPrice,
} from '../../core/instance-type.ts'
import type { RequirementSpec } from '../../core/objects.ts'
import { type Requirements, requirements } from '../../core/requirements/requirements.ts'
import { formatResources, parseResources } from '../../core/resources.ts'
import { orderByPrice } from '../plain-scheduler/claim-requirements.ts'

interface OfferingInput {
  requirements: RequirementSpec[]
  price: number
  available: boolean
  reservationCapacity?: number
}

export interface InstanceTypeInput {
  name: string
  requirements: RequirementSpec[]
  offerings: OfferingInput[] | null
  capacity: Record<string, string> | null
  overhead: {
    kubeReserved?: Record<string, string>
    systemReserved?: Record<string, string>
    evictionThreshold?: Record<string, string>
  }
}

export function instanceType(input: InstanceTypeInput): InstanceType {
  return {
    name: input.name,
    requirements: requirements(input.requirements ?? []),
    offerings: (input.offerings ?? []).map((offering) => ({
      ...offering,
      requirements: requirements(offering.requirements),
    })),
    capacity: parseResources(input.capacity),
    overhead: Object.fromEntries(
      Object.entries(input.overhead ?? {}).map(([part, amounts]) => [part, parseResources(amounts)]),
    ),
  }
}

/** Kind `price`. */
export function evaluatePrice(input: {
  instanceTypes: InstanceTypeInput[]
  requirements: RequirementSpec[]
  maxItems?: number
}) {
  const types = input.instanceTypes.map(instanceType)
  const wanted = requirements(input.requirements)
  const ordered = orderByPrice(types, wanted)
  const met = minValues(ordered, wanted)
  const byType = <T>(of: (type: InstanceType) => T) => Object.fromEntries(types.map((type) => [type.name, of(type)]))
  return {
    order: groups(ordered, (type) => cheapestPrice(type, wanted)),
    cheapest: byType((type) => cheapestPrice(type, wanted) ?? null),
    worstLaunchPrice: byType((type) => worstLaunchPrice(type.offerings.filter(isLaunchable), wanted) ?? null),
    compatible: types
      .filter((type) => compatibleOfferings(type, wanted).some((offering) => offering.available))
      .map((type) => type.name),
    allocatable: byType((type) => formatResources(allocatable(type))),
    minValues: {
      needed: met.needed,
      satisfied: met.unsatisfied.size === 0,
      unsatisfied: met.unsatisfied.size === 0 ? null : Object.fromEntries(met.unsatisfied),
    },
    ...(input.maxItems === undefined ? {} : { truncated: truncated(types, wanted, input.maxItems) }),
  }
}

function truncated(types: readonly InstanceType[], wanted: Requirements, max: number) {
  const cut = orderByPrice(types, wanted).slice(0, max)
  const ok = minValues(cut, wanted).unsatisfied.size === 0
  return { ok, names: (ok ? cut : types).map((type) => type.name).sort() }
}

function groups(ordered: readonly InstanceType[], priceOf: (type: InstanceType) => number | undefined): string[][] {
  const result: string[][] = []
  let last: number | undefined | null = null
  for (const type of ordered) {
    const price = priceOf(type)
    if (price !== last) result.push([])
    last = price
    result.at(-1)?.push(type.name)
  }
  return result.map((group) => group.sort())
}
