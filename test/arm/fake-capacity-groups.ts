import { azureConfig } from '../fakes/azure-config.ts'

interface FakeVm {
  readonly name: string
  readonly properties: Readonly<Record<string, unknown>>
}

interface FakeVms {
  names(kind: 'virtualMachines'): readonly string[]
  get(kind: 'virtualMachines', name: string): FakeVm | undefined
}

/** A capacity reservation of one size in one zone; `0` is regional. */
interface FakeReservation {
  readonly size: string
  readonly zone: string
  readonly capacity: number
  readonly state?: string
}

const scope = `/subscriptions/${azureConfig.subscriptionId}/resourceGroups`

/** The ARM id of a capacity reservation group. */
export const groupId = (name: string) =>
  `${scope}/reserved/providers/Microsoft.Compute/capacityReservationGroups/${name}`

/** Capacity reservation groups in memory. Which VMs are in them follows from the VMs. */
export class FakeCapacityGroups {
  readonly #azure: FakeVms
  /** By name, in lower case. */
  readonly #groups = new Map<string, readonly FakeReservation[]>()
  /** VMs of others, which are in every reservation. */
  others = 0
  /** The answer to every request, in place of the groups. */
  refusal: { readonly status: number; readonly code: string } | undefined
  /** How many requests were answered. */
  requests = 0

  constructor(azure: FakeVms) {
    this.#azure = azure
  }

  put(name: string, ...reservations: readonly FakeReservation[]): void {
    this.#groups.set(name.toLowerCase(), reservations)
  }

  remove(name: string): void {
    this.#groups.delete(name.toLowerCase())
  }

  answer(url: URL): { readonly status: number; readonly body: unknown } {
    this.requests += 1
    if (this.refusal !== undefined) {
      const { status, code } = this.refusal
      return { status, body: { error: { code, message: code } } }
    }
    const [, name = '', list] =
      /\/capacityReservationGroups\/([^/]+)(\/capacityReservations)?$/.exec(url.pathname) ?? []
    const reservations = this.#groups.get(name.toLowerCase())
    if (reservations === undefined) {
      const message = `The Resource 'Microsoft.Compute/capacityReservationGroups/${name}' under resource group 'reserved' was not found.`
      return { status: 404, body: { error: { code: 'ResourceNotFound', message } } }
    }
    if (list !== undefined)
      return {
        status: 200,
        body: {
          value: reservations.map(({ size, zone, capacity, state = 'Succeeded' }, at) => ({
            name: `r${at}`,
            location: azureConfig.location,
            ...(zone === '0' ? {} : { zones: [zone] }),
            sku: { name: size, capacity },
            properties: { provisioningState: state },
          })),
        },
      }
    const members = this.#azure
      .names('virtualMachines')
      .map((vm) => this.#azure.get('virtualMachines', vm))
      .filter((vm) => vm !== undefined)
      .filter((vm) => groupOf(vm).toLowerCase() === groupId(name).toLowerCase())
    return {
      status: 200,
      body: {
        name,
        location: azureConfig.location,
        properties: {
          virtualMachinesAssociated: members.map(reference),
          instanceView: {
            capacityReservations: reservations.map(({ size, zone }, at) => ({
              name: `R${at}`,
              utilizationInfo: {
                virtualMachinesAllocated: [
                  ...members.filter((vm) => isIn(vm, size, zone)).map(reference),
                  ...Array.from({ length: this.others }, (_, vm) => ({
                    id: `${scope}/other/providers/Microsoft.Compute/virtualMachines/vm${vm}`,
                  })),
                ],
              },
            })),
          },
        },
      },
    }
  }
}

function reference({ name }: FakeVm) {
  return {
    id: `${scope}/${azureConfig.nodeResourceGroup.toUpperCase()}/providers/Microsoft.Compute/virtualMachines/${name}`,
  }
}

function groupOf({ properties }: FakeVm): string {
  const found = properties['capacityReservation'] as { capacityReservationGroup?: { id?: string } } | undefined
  return found?.capacityReservationGroup?.id ?? ''
}

function isIn({ properties }: FakeVm, size: string, zone: string): boolean {
  const { vmSize } = properties['hardwareProfile'] as { vmSize: string }
  const zones = (properties['zones'] ?? []) as readonly string[]
  return vmSize === size && (zones[0] ?? '0') === zone
}
