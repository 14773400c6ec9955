import { z } from 'zod'
import { count, name, names, words } from '../../../api/kept/document.ts'
import type { KeptFormat } from '../catalogue/durable-document.ts'
import { mostGroupsRead } from './group-id.ts'
import type { Reservation, ReservationGroup } from './reservation.ts'

/** An id of ARM. */
const id = words(1000)

const reservation: z.ZodType<Reservation> = z.object({
  id: name,
  instanceType: name,
  zone: name,
  capacity: count,
  isSettled: z.boolean(),
  allocated: names,
  others: count,
})

/** The groups that AKSNodeClasses name, in the ConfigMap. */
export const keptGroups: KeptFormat<readonly ReservationGroup[]> = {
  name: 'joiner-reservations',
  version: '1',
  schema: z
    .array(
      z.discriminatedUnion('kind', [
        z.object({
          kind: z.literal('read'),
          groupId: id,
          reservations: z.array(reservation).max(1000),
          associated: names,
        }),
        z.object({ kind: z.literal('gone'), groupId: id }),
        z.object({ kind: z.literal('unreadable'), groupId: id, why: words(10_000) }),
      ]),
    )
    .max(mostGroupsRead),
}
