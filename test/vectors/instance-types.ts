// Evaluators of the vector kinds about instance types and their prices.
import { sold } from '../../core/disruption/replacement.ts'
import {
  allocatable,
  cheapestPrice,
  type InstanceType,
  isLaunchable,
  minValues,
  worstLaunchPrice,
} from '../../core/instance-type.ts'
import type { RequirementSpec } from '../../core/objects.ts'
import { wellKnownLabels } from '../../core/requirements/labels.ts'
import { type Requirements, requirements } from '../../core/requirements/requirements.ts'
import { formatResources, parseResources } from '../../core/resources.ts'
import { samplePool } from '../samples/sample-objects.ts'
import { plannedClaim } from './planned-claim.ts'

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
  const { types: byName, prices } = plannedClaim(samplePool(), types, { wanted })
  const ordered = prices.order.map((at) => byName[at] as InstanceType)
  const met = minValues(ordered, wanted)
  const byType = <T>(of: (type: InstanceType) => T) => Object.fromEntries(types.map((type) => [type.name, of(type)]))
  return {
    order: groups(ordered, (type) => cheapestPrice(type, wanted)),
    cheapest: Object.fromEntries(byName.map(({ name }, at) => [name, finite(prices.lowest[at])])),
    worstLaunchPrice: byType((type) => worstLaunchPrice(type.offerings.filter(isLaunchable), wanted) ?? null),
    compatible: sold({ wanted, types }, { wellKnown: wellKnownLabels }).types.map((type) => type.name),
    allocatable: byType((type) => formatResources(allocatable(type))),
    minValues: {
      needed: met.needed,
      satisfied: met.unsatisfied.size === 0,
      unsatisfied: met.unsatisfied.size === 0 ? null : Object.fromEntries(met.unsatisfied),
    },
    ...(input.maxItems === undefined ? {} : { truncated: truncated(types, wanted, input.maxItems) }),
  }
}

const finite = (price: number | undefined) => (price === Number.POSITIVE_INFINITY ? null : price)

/** Types of a claim that does not hold its minValues are not cut. Whether they hold for all types is known before a claim is opened. */
function truncated(types: readonly InstanceType[], wanted: Requirements, maxInstanceTypes: number) {
  // Of equal prices the planner takes the first by name, and the cases the first that is given.
  const numbered = types.map((type, at) => ({ ...type, name: String(at).padStart(4, '0') }))
  const { finished } = plannedClaim(samplePool(), numbered, { wanted, maxInstanceTypes })
  const ok = finished.kind === 'claim' && minValues(types, wanted).unsatisfied.size === 0
  const left = ok ? finished.claim.instanceTypes : numbered.map(({ name }) => name)
  return { ok, names: left.map((number) => (types[Number(number)] as InstanceType).name).sort() }
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
