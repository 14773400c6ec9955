// How dear an offering may be after cheaper ones were refused (docs/adr/0037-refusals-of-a-class.md).
import {
  allocatable,
  capacityTypeOf,
  type InstanceType,
  type Offering,
  typeMatches,
} from '../../../core/instance-type.ts'
import { labels, wellKnownLabels } from '../../../core/requirements/labels.ts'
import { isCompatible, type Requirements } from '../../../core/requirements/requirements.ts'
import { fits } from '../../../core/resources.ts'
import type { Wanted } from '../capacity/choose-offering.ts'
import { isUnknownPrice } from '../catalogue/pricing.ts'

/** USD an hour by capacity type. */
type Prices = ReadonlyMap<string, number>

/** Most that a fallback may cost by capacity type, and why. */
export interface PriceBound {
  readonly most: Prices
  readonly why: string
}

interface Limits {
  /** Sizes that Azure refused for a cause that is no lack of capacity (`class-refusals.ts`). */
  readonly refused: ReadonlySet<string>
  /** Sizes that the plan of the claim left out, because they were marked. */
  readonly leftOut: ReadonlySet<string>
  /** From the NodePool; unset: no bound after a lack of capacity. */
  readonly factor?: number | undefined
}

/** Keys that a type has from its available offerings alone, so one that has none left matches none of them. */
const offeringKeys: ReadonlySet<string> = new Set([
  labels.zone,
  labels.capacityType,
  'karpenter.azure.com/placement-scope',
  'karpenter.azure.com/sku-storage-ultra-ssd',
  labels.reservationId,
])

/** Returns the types that a claim could be, whether they can be bought now or not. */
export function fittingTypes(
  types: readonly InstanceType[],
  { requirements, requests }: Pick<Wanted, 'requirements' | 'requests'>,
): readonly InstanceType[] {
  const ofType: Requirements = new Map([...requirements].filter(([key]) => !offeringKeys.has(key)))
  return types.filter((type) => typeMatches(type, ofType) && fits(requests, allocatable(type)))
}

const mostAfterRefusal = (base: number) => Math.max(2 * base, base + 0.2)

/**
 * Returns what a fallback may cost at most, from the cheapest offering of each capacity type that would do, refused ones included. Undefined: nothing
 * bounds it. Offerings of reservations and those without a price are no base.
 */
export function priceBound(types: readonly InstanceType[], claim: Wanted, limits: Limits): PriceBound | undefined {
  const { refused, leftOut, factor } = limits
  if (refused.size === 0 && factor === undefined) return undefined
  const anySize = new Map([...claim.requirements].filter(([key]) => key !== labels.instanceType))
  const wanted = { ...claim, requirements: anySize }
  const before = fittingTypes(
    types.filter(({ name }) => leftOut.has(name)),
    wanted,
  )
  const fitting = [...fittingTypes(types, claim), ...before]
  const isRefused = fitting.some(({ name }) => refused.has(name))
  if (!isRefused && factor === undefined) return undefined
  const most = new Map<string, number>()
  for (const [capacityType, base] of cheapest(fitting, anySize)) {
    const bounds = [
      isRefused ? mostAfterRefusal(base) : Number.POSITIVE_INFINITY,
      factor === undefined ? Number.POSITIVE_INFINITY : base * factor,
    ]
    most.set(capacityType, Math.min(...bounds))
  }
  return { most, why: isRefused ? 'after a refusal that is no lack of capacity' : 'after a lack of capacity' }
}

function cheapest(types: readonly InstanceType[], requirements: Requirements): Prices {
  const prices = new Map<string, number>()
  for (const { offerings } of types)
    for (const offering of offerings) {
      const capacityType = capacityTypeOf(offering)
      if (capacityType === 'reserved' || isUnknownPrice(offering.price)) continue
      if (offering.price >= (prices.get(capacityType) ?? Number.POSITIVE_INFINITY)) continue
      if (isCompatible(requirements, offering.requirements, wellKnownLabels)) prices.set(capacityType, offering.price)
    }
  return prices
}

/** Whether an offering costs no more than the bound. What a reservation holds is paid for already. */
export function isWithin({ most }: PriceBound, offering: Offering): boolean {
  return offering.price <= (most.get(capacityTypeOf(offering)) ?? Number.POSITIVE_INFINITY)
}
