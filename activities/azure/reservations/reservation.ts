import { createHash } from 'node:crypto'
import type { CapacityReservation, CapacityReservationGroup, VirtualMachine } from '@azure/arm-compute'
import { printableStart } from '../../../core/values/printable.ts'
import type { AzureConfig } from '../azure-config.ts'
import { regionalZone, zoneLabel, zoneLabelOf } from '../catalogue/zones.ts'

/** Capacity of one size in one place. A group has at most one for a size and zone (docs/capacity-reservations.md). */
export interface Reservation {
  /** Value of the label `karpenter.azure.com/capacity-reservation-id`. */
  readonly id: string
  readonly instanceType: string
  /** Zone label; `0` is regional. */
  readonly zone: string
  readonly capacity: number
  /** Azure is done with the last change of its capacity. */
  readonly isSettled: boolean
  /** Names, in lower case, of the node resource group's VMs that are allocated in it. */
  readonly allocated: readonly string[]
  /** How many VMs of others are. */
  readonly others: number
}

/** A reservation that an AKSNodeClass may use now. */
export interface OfferedReservation {
  readonly id: string
  readonly groupId: string
  readonly instanceType: string
  /** Zone label; `0` is regional. */
  readonly zone: string
  /** How many more VMs fit in, counting those that NodeClaims are about to launch. Below 0: Azure has given it more than its capacity. */
  readonly free: number
}

/** A group as Azure described it. */
export type ReservationGroup = { readonly groupId: string } & (
  | {
      readonly kind: 'read'
      readonly reservations: readonly Reservation[]
      /** Names, in lower case, of the node resource group's VMs that are associated with the group, allocated or not. */
      readonly associated: readonly string[]
    }
  /** Azure says that it does not exist. */
  | { readonly kind: 'gone' }
  /** Nothing is known of it. */
  | { readonly kind: 'unreadable'; readonly why: string }
)

/** Returns a label value for the reservation of a size and zone in a group. It follows from a VM as well as from the reservation. */
export function reservationId({
  groupId,
  instanceType,
  zone,
}: {
  readonly groupId: string
  readonly instanceType: string
  readonly zone: string
}): string {
  const name = (groupId.split('/').at(-1) ?? '').toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
  const digest = createHash('sha256').update(`${groupId} ${instanceType} ${zone}`.toLowerCase()).digest('hex')
  return `${name.slice(0, 40).replace(/^-/, '')}-${digest.slice(0, 12)}`.replace(/^-/, '')
}

/** Returns the group that a VM is associated with; undefined for one that is in none. */
export function groupOfVm({ capacityReservation }: VirtualMachine): string | undefined {
  return capacityReservation?.capacityReservationGroup?.id
}

/** Returns the reservation of a VM, by its group, size and zone; undefined for a VM of no group. */
export function reservationOfVm(vm: VirtualMachine): { readonly id: string; readonly groupId: string } | undefined {
  const groupId = groupOfVm(vm)
  if (groupId === undefined) return undefined
  return {
    groupId,
    id: reservationId({ groupId, instanceType: vm.hardwareProfile?.vmSize ?? '', zone: zoneLabelOf(vm) }),
  }
}

interface Answers {
  readonly groupId: string
  /** With its instance view. */
  readonly group: CapacityReservationGroup
  readonly reservations: readonly CapacityReservation[]
}

/** Returns what Azure's two answers about a group say. VMs beyond the capacity are Azure's overallocation: they take nothing that is free. */
export function groupOf({ groupId, group, reservations }: Answers, config: AzureConfig): ReservationGroup {
  if (group.location.replaceAll(' ', '').toLowerCase() !== config.location.toLowerCase())
    return unreadable(groupId, `is in region ${printableStart(group.location, 50)}, not in ${config.location}`)
  // Block reservations have a beginning and an end of their own, open ones are used without being named.
  if (group.reservationType !== undefined && group.reservationType !== 'Targeted')
    return unreadable(groupId, `is of type ${printableStart(group.reservationType, 50)}; only Targeted ones are used`)
  const views = new Map(
    (group.instanceView?.capacityReservations ?? []).map((view) => [view.name?.toLowerCase() ?? '', view]),
  )
  return {
    groupId,
    kind: 'read',
    associated: ownVms(group.virtualMachinesAssociated ?? [], config),
    reservations: reservations.flatMap(({ name, sku, zones = [], provisioningState }) => {
      const instanceType = sku.name ?? ''
      if (instanceType === '' || zones.length > 1) return []
      const [number] = zones
      const zone = number === undefined ? regionalZone : zoneLabel(config.location, number)
      const view = views.get(name?.toLowerCase() ?? '')
      const allocated = view?.utilizationInfo?.virtualMachinesAllocated ?? []
      const own = ownVms(allocated, config)
      const reserved = Math.min(sku.capacity ?? 0, view?.utilizationInfo?.currentCapacity ?? Number.POSITIVE_INFINITY)
      return [
        {
          id: reservationId({ groupId, instanceType, zone }),
          instanceType,
          zone,
          // Without an instance view nobody knows how much of it is taken.
          capacity: view === undefined ? 0 : reserved,
          isSettled: view !== undefined && provisioningState === 'Succeeded',
          allocated: own,
          others: allocated.length - own.length,
        },
      ]
    }),
  }
}

export function unreadable(groupId: string, why: string): ReservationGroup {
  return { groupId, kind: 'unreadable', why }
}

/** Returns the names of VMs in the node resource group, in lower case. */
function ownVms(
  references: readonly { readonly id?: string }[],
  { subscriptionId, nodeResourceGroup }: AzureConfig,
): readonly string[] {
  const prefix =
    `/subscriptions/${subscriptionId}/resourceGroups/${nodeResourceGroup}/providers/microsoft.compute/virtualmachines/`.toLowerCase()
  return references.flatMap(({ id = '' }) => {
    const lower = id.toLowerCase()
    return lower.startsWith(prefix) ? [lower.slice(prefix.length)] : []
  })
}
