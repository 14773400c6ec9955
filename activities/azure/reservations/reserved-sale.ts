import type { Mark, OfferingId } from '../capacity/mark.ts'
import type { ReservedPlace } from '../catalogue/instance-types.ts'
import type { OfferedReservation } from './reservation.ts'

/** Returns reservations by size, in lower case. One that Azure refused a moment ago is not available, nor is one of a size that does not work. */
export function reservedSale(
  offered: readonly OfferedReservation[],
  markOf: (offering: OfferingId) => Mark | undefined,
): ReadonlyMap<string, readonly ReservedPlace[]> {
  const sale = new Map<string, readonly ReservedPlace[]>()
  for (const { id, instanceType, zone, free } of offered) {
    const mark = markOf({ instanceType, zone, capacityType: 'reserved', family: '', vCpus: 0 })
    const place = { id, zone, free, available: mark === undefined }
    sale.set(instanceType.toLowerCase(), [...(sale.get(instanceType.toLowerCase()) ?? []), place])
  }
  return sale
}
