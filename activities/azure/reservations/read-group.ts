import type { CapacityReservation } from '@azure/arm-compute'
import type { Logger } from 'pino'
import { isResourceGone, scrubbedMessage } from '../arm/azure-error.ts'
import type { AzureClient } from '../arm/client.ts'
import type { AzureConfig } from '../azure-config.ts'
import type { GroupId } from './group-id.ts'
import { groupOf, type ReservationGroup, unreadable } from './reservation.ts'

interface ReadDeps {
  readonly azure: AzureClient
  readonly config: AzureConfig
  readonly log: Logger
}

/** Reads a group by two requests: what is reserved, and which VMs are in it. Only Azure's word about the group itself proves that it is gone. */
export async function readGroup(
  { azure: { compute }, config, log }: ReadDeps,
  { id: groupId, resourceGroup, name }: GroupId,
): Promise<ReservationGroup> {
  try {
    const group = await compute.capacityReservationGroups.get(resourceGroup, name, { expand: 'instanceView' })
    const reservations: CapacityReservation[] = []
    for await (const one of compute.capacityReservations.listByCapacityReservationGroup(resourceGroup, name))
      reservations.push(one)
    return groupOf({ groupId, group, reservations }, config)
  } catch (error) {
    if (isResourceGone(error, name)) return { groupId, kind: 'gone' }
    const why = scrubbedMessage(error)
    log.warn({ group: groupId, why }, 'capacity reservation group could not be read')
    return unreadable(groupId, `cannot be read: ${why}`)
  }
}
