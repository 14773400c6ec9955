import type { Attempt } from '../admin/faults.ts'
import { ArmError, resourceNotFound } from '../server/arm-error.ts'
import type { Journal, Table } from '../server/journal.ts'
import { attemptOf } from '../virtual-machines/attempt.ts'
import type { Machine, MachineBody } from '../virtual-machines/machine.ts'
import type { Machines } from '../virtual-machines/machines.ts'

/** So many VMs of one size in one zone, or in the region. */
export interface SimulatedReservation {
  readonly name: string
  readonly sku: string
  readonly capacity: number
  /** `0`: regional. */
  readonly zone: string
  readonly tags?: Readonly<Record<string, string>>
}

export interface CapacityGroup {
  readonly id: string
  readonly resourceGroup: string
  readonly name: string
  readonly location: string
  readonly zones: readonly string[]
  readonly tags?: Readonly<Record<string, string>>
  readonly reservations: readonly SimulatedReservation[]
}

const type = 'Microsoft.Compute/capacityReservationGroups'

/**
 * Capacity reservation groups and the VMs in them, on disk. A reservation limits nothing: VMs beyond its capacity are allocated like any other VM
 * (https://learn.microsoft.com/azure/virtual-machines/capacity-reservation-overallocate).
 */
export class CapacityGroups {
  readonly #table: Table<CapacityGroup>
  readonly #machines: Machines

  constructor(journal: Journal, machines: Machines) {
    this.#table = journal.table<CapacityGroup>('capacityGroups')
    this.#machines = machines
  }

  get all(): readonly CapacityGroup[] {
    return this.#table.all
  }

  find(id: string): CapacityGroup | undefined {
    return this.#table.get(id.toLowerCase())
  }

  save(group: CapacityGroup): void {
    this.#table.put(group.id.toLowerCase(), group)
  }

  /** Deletes an empty group; false: there was none. Errors: it has reservations. */
  remove(id: string): boolean {
    const group = this.find(id)
    if (group === undefined) return false
    if (group.reservations.length > 0)
      throw new ArmError(409, 'OperationNotAllowed', `Capacity reservation group '${group.name}' has reservations.`)
    this.#table.delete(id.toLowerCase())
    return true
  }

  /** VMs that name the group, allocated or not. */
  associated({ id }: CapacityGroup): readonly Machine[] {
    return this.#machines.all.filter(({ body }) => groupIn(body)?.toLowerCase() === id.toLowerCase())
  }

  /** VMs of the group that a reservation is for. */
  associatedWith(group: CapacityGroup, reservation: SimulatedReservation): readonly Machine[] {
    return this.associated(group).filter(({ body }) => isFor(reservation, attemptOf(body)))
  }

  /** Of those, the ones that are neither deallocated nor failed. */
  allocated(group: CapacityGroup, reservation: SimulatedReservation): readonly Machine[] {
    return this.associatedWith(group, reservation).filter(
      ({ failure, power }) => failure === undefined && power !== 'deallocated',
    )
  }

  /**
   * Whether a new VM takes a free place of a reservation: then neither quota nor hardware is asked. False for a VM of no group, and for one beyond the
   * capacity. Errors: a group or reservation that is not there; a spot VM.
   */
  holdsPlaceFor(body: MachineBody): boolean {
    const id = groupIn(body)
    if (id === undefined) return false
    const group = this.find(id)
    const name = id.split('/').at(-1) ?? ''
    if (group === undefined) throw resourceNotFound(type, name, id.split('/')[4] ?? '')
    const attempt = attemptOf(body)
    if (attempt.capacityType === 'spot')
      throw new ArmError(400, 'BadRequest', `A spot VM cannot use capacity reservation group '${name}'.`)
    const reservation = group.reservations.find((one) => isFor(one, attempt))
    if (reservation === undefined)
      throw new ArmError(
        409,
        'OperationNotAllowed',
        `Capacity reservation group '${name}' has no capacity reservation for VM size '${attempt.sku}' ${attempt.zone === '0' ? 'without a zone' : `in zone ${attempt.zone}`}.`,
      )
    return this.allocated(group, reservation).length < reservation.capacity
  }

  /** Places that are kept free, by size and zone. */
  get unused(): readonly (Attempt & { readonly free: number })[] {
    return this.all.flatMap((group) =>
      group.reservations.map((one) => ({
        sku: one.sku,
        zone: one.zone,
        capacityType: 'on-demand' as const,
        image: '',
        free: Math.max(0, one.capacity - this.allocated(group, one).length),
      })),
    )
  }

  /** Errors: a VM that takes a place leaves its group only while it is deallocated, or once the reservation is empty. */
  checkLeaves(machine: Machine): void {
    const group = this.find(groupIn(machine.body) ?? '')
    const held = group?.reservations.find((one) => isFor(one, attemptOf(machine.body)))
    if (held === undefined || held.capacity === 0 || machine.power === 'deallocated') return
    throw new ArmError(
      409,
      'OperationNotAllowed',
      `VM '${machine.name}' is allocated in capacity reservation '${held.name}'. Deallocate it, or set the capacity to 0.`,
    )
  }
}

/** The group that a VM names. */
function groupIn({ properties }: MachineBody): string | undefined {
  return properties.capacityReservation?.capacityReservationGroup?.id ?? undefined
}

export function isFor({ sku, zone }: SimulatedReservation, attempt: Pick<Attempt, 'sku' | 'zone'>): boolean {
  return sku.toLowerCase() === attempt.sku.toLowerCase() && zone === attempt.zone
}
