import type { Address } from './network/addresses.ts'
import type { SimulatorConfig } from './server/config.ts'
import { instanceView } from './virtual-machines/instance-view.ts'
import {
  type Extension,
  type Leftover,
  type Machine,
  nicConfigurations,
  type Part,
  type PartType,
} from './virtual-machines/machine.ts'

/** ARM ids and bodies of what the simulator shows. */
export class Resources {
  readonly #config: SimulatorConfig

  constructor(config: SimulatorConfig) {
    this.#config = config
  }

  id(provider: string, type: string, name: string): string {
    return `/subscriptions/${this.#config.subscriptionId}/resourceGroups/${this.#config.nodeResourceGroup}/providers/${provider}/${type}/${name}`
  }

  vm(machine: Machine, withInstanceView = false): Record<string, unknown> {
    const { body } = machine
    const { osProfile, networkProfile: _network, ...properties } = body.properties
    // ARM never gives custom data back.
    const { customData: _secret, ...shownProfile } = osProfile ?? {}
    return {
      id: this.id('Microsoft.Compute', 'virtualMachines', machine.name),
      name: machine.name,
      type: 'Microsoft.Compute/virtualMachines',
      location: body.location,
      ...(body.tags === undefined ? {} : { tags: body.tags }),
      ...(body.zones === undefined ? {} : { zones: body.zones }),
      ...(body.identity === undefined ? {} : { identity: body.identity }),
      properties: {
        ...properties,
        vmId: machine.vmId,
        provisioningState: machine.state,
        timeCreated: machine.timeCreated,
        osProfile: shownProfile,
        networkProfile: {
          networkInterfaces: nicConfigurations(machine).map(({ name, properties: nic }) => ({
            id: this.id('Microsoft.Network', 'networkInterfaces', name),
            properties: { primary: nic?.primary ?? true, deleteOption: nic?.deleteOption ?? 'Detach' },
          })),
        },
        ...(withInstanceView ? { instanceView: instanceView(machine) } : {}),
      },
    }
  }

  nics(machine: Machine): readonly Record<string, unknown>[] {
    const addresses = machine.addresses.values()
    return nicConfigurations(machine).map((nic) => ({
      id: this.id('Microsoft.Network', 'networkInterfaces', nic.name),
      name: nic.name,
      type: 'Microsoft.Network/networkInterfaces',
      location: machine.body.location,
      tags: machine.partTags?.[nic.name] ?? nic.tags ?? {},
      properties: {
        ...nic.properties,
        provisioningState: 'Succeeded',
        virtualMachine: { id: this.id('Microsoft.Compute', 'virtualMachines', machine.name) },
        ipConfigurations: (nic.properties?.ipConfigurations ?? []).map(({ name, properties }) => ({
          name,
          properties: {
            ...properties,
            privateIPAddress: addresses.next().value?.ip,
            privateIPAllocationMethod: 'Dynamic',
            provisioningState: 'Succeeded',
          },
        })),
      },
    }))
  }

  extension(machine: Machine, { name, tags, properties, state }: Extension): Record<string, unknown> {
    return {
      id: `${this.id('Microsoft.Compute', 'virtualMachines', machine.name)}/extensions/${name}`,
      name,
      type: 'Microsoft.Compute/virtualMachines/extensions',
      location: machine.body.location,
      ...(tags === undefined ? {} : { tags }),
      properties: { ...properties, provisioningState: state },
    }
  }

  /** A NIC or disk as ARM shows it. */
  part(type: PartType, part: Part): Record<string, unknown> {
    if (part.kind === 'leftover') return part.leftover.resource
    const all = type === 'disks' ? this.disks(part.machine) : this.nics(part.machine)
    return all.find(({ name }) => name === part.name) ?? {}
  }

  disks(machine: Machine): readonly Record<string, unknown>[] {
    const disk = machine.body.properties.storageProfile?.osDisk
    if (disk?.name === undefined) return []
    return [
      {
        id: this.id('Microsoft.Compute', 'disks', disk.name),
        name: disk.name,
        type: 'Microsoft.Compute/disks',
        location: machine.body.location,
        ...tagsOf(machine, disk.name),
        managedBy: this.id('Microsoft.Compute', 'virtualMachines', machine.name),
        properties: { diskSizeGB: disk.diskSizeGB, diskState: 'Attached', provisioningState: 'Succeeded' },
      },
    ]
  }

  /**
   * What stays when a VM goes: NICs and disks whose delete option is not Delete. Azure's default is Detach
   * (https://learn.microsoft.com/azure/virtual-machines/delete).
   */
  leftovers(machine: Machine): readonly Leftover[] {
    const untilMs = machine.nicsReservedUntilMs ?? 0
    const reserved =
      untilMs > Date.now() ? { untilMs, vm: this.id('Microsoft.Compute', 'virtualMachines', machine.name) } : undefined
    const kept = new Set(
      nicConfigurations(machine)
        .filter(
          (nic) => machine.keepsNics === true || reserved !== undefined || nic.properties?.deleteOption !== 'Delete',
        )
        .map(({ name }) => name),
    )
    const nics = this.nics(machine)
      .filter((nic) => kept.has(String(nic['name'])))
      .map((nic): Leftover => {
        const { virtualMachine: _gone, ...properties } = nic['properties'] as Record<string, unknown>
        const resource = { ...nic, properties }
        return {
          type: 'networkInterfaces',
          name: String(nic['name']),
          resource,
          addresses: addressesIn(resource),
          ...(reserved === undefined ? {} : { reserved }),
        }
      })
    if (machine.body.properties.storageProfile?.osDisk?.deleteOption === 'Delete') return nics
    const disks = this.disks(machine).map(({ managedBy: _gone, ...disk }): Leftover => {
      const properties = { ...(disk['properties'] as Record<string, unknown>), diskState: 'Unattached' }
      return { type: 'disks', name: String(disk['name']), resource: { ...disk, properties } }
    })
    return [...nics, ...disks]
  }
}

/** The addresses that a NIC holds. */
function addressesIn({ properties }: { readonly properties: Record<string, unknown> }): readonly Address[] {
  const configurations = (properties['ipConfigurations'] ?? []) as readonly {
    readonly properties?: { readonly subnet?: { readonly id: string }; readonly privateIPAddress?: string }
  }[]
  return configurations.flatMap(({ properties: own }) =>
    own?.subnet === undefined || own.privateIPAddress === undefined
      ? []
      : [{ subnetId: own.subnet.id, ip: own.privateIPAddress }],
  )
}

function tagsOf({ partTags }: Machine, name: string): { readonly tags?: Readonly<Record<string, string>> } {
  const tags = partTags?.[name]
  return tags === undefined ? {} : { tags }
}
