import type { InstanceType } from '../../core/instance-type.ts'
import { capacityTypeOf, zoneOf } from '../../core/instance-type.ts'
import type { Catalogue } from '../azure/catalogue/catalogue.ts'
import { isUnknownPrice } from '../azure/catalogue/pricing.ts'
import type { VmSize } from '../azure/catalogue/sku.ts'

interface Bought {
  readonly instanceType?: InstanceType | undefined
  readonly zone: string
  readonly capacityType: string
}

/** Annotations keep this many digits of a price; sums of percentages have more. */
const digits = 12

/** Returns what a launched VM costs in USD an hour: what a NodeOverlay says, else what the catalogue does. */
export function launchPrice(
  catalogue: Pick<Catalogue, 'price'>,
  { instanceType, zone, capacityType }: Bought,
  size: VmSize | undefined,
): ReturnType<Catalogue['price']> {
  const offering = instanceType?.offerings.find(
    (one) => one.isPriceOverlaid === true && zoneOf(one) === zone && capacityTypeOf(one) === capacityType,
  )
  if (offering !== undefined && !isUnknownPrice(offering.price))
    return { pricePerHour: Number(offering.price.toFixed(digits)) }
  return size === undefined ? {} : catalogue.price(size, capacityType)
}
