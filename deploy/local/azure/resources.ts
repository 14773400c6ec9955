import { defined } from '../../../core/values/defined.ts'
import { etagOf, macOf, uuidOf } from './drawn.ts'
import type { ImageVersions } from './images/image-versions.ts'
import type { Address } from './network/addresses.ts'
import type { SimulatorConfig } from './server/config.ts'
import { instanceView } from './virtual-machines/instance-view.ts'
import {
  type Extension,
  type Leftover,
  type Machine,
  type NetworkInterfaceConfiguration,
  nicConfigurations,
  type Part,
  type PartType,
} from './virtual-machines/machine.ts'

/** ARM ids and bodies of what the simulator shows. */
export class Resources {
  readonly #config: SimulatorConfig
  readonly #images: Pick<ImageVersions, 'find'>

  constructor(config: SimulatorConfig, images: Pick<ImageVersions, 'find'>) {
    this.#config = config
    this.#images = images
  }

  id(provider: string, type: string, name: string): string {
    return `/subscriptions/${this.#config.subscriptionId}/resourceGroups/${this.#config.nodeResourceGroup}/providers/${provider}/${type}/${name}`
  }

  vm(machine: Machine, withInstanceView = false): Record<string, unknown> {
    const { body } = machine
    const extensions = Object.values(machine.extensions ?? {})
    const { osProfile, networkProfile: _network, ...properties } = body.properties
    // ARM never gives custom data back.
    const { customData: _secret, ...shownProfile } = osProfile ?? {}
    return {
      id: this.id('Microsoft.Compute', 'virtualMachines', machine.name),
      name: machine.name,
      type: 'Microsoft.Compute/virtualMachines',
      location: body.location,
      ...defined({ tags: body.tags, zones: body.zones }),
      ...(body.identity === undefined ? {} : { identity: this.#identity(machine) }),
      etag: etagOf(machine),
      ...(extensions.length === 0 ? {} : { resources: extensions.map((one) => this.extension(machine, one)) }),
      properties: {
        ...properties,
        vmId: machine.vmId,
        provisioningState: machine.state,
        timeCreated: machine.timeCreated,
        storageProfile: this.#storage(machine),
        osProfile: { secrets: [], allowExtensionOperations: true, ...shownProfile },
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

  /** Identities with the ids that Azure shows beside them. */
  #identity({ body }: Machine): Record<string, unknown> {
    const { userAssignedIdentities, ...identity } = body.identity as {
      readonly userAssignedIdentities?: Readonly<Record<string, unknown>>
    }
    if (userAssignedIdentities === undefined) return identity
    const shown = Object.keys(userAssignedIdentities).map((id) => [
      id,
      { principalId: uuidOf(`principal ${id}`), clientId: uuidOf(`client ${id}`) },
    ])
    return { ...identity, userAssignedIdentities: Object.fromEntries(shown) }
  }

  #storage({ body }: Machine): Record<string, unknown> {
    const { osDisk, imageReference, ...rest } = body.properties.storageProfile ?? {}
    const image = imageReference?.communityGalleryImageId ?? imageReference?.id
    const disk = osDisk?.name
    return {
      dataDisks: [],
      ...rest,
      ...(imageReference === undefined
        ? {}
        : { imageReference: { ...imageReference, exactVersion: this.#images.find(image ?? '') ?? '' } }),
      osDisk: {
        osType: 'Linux',
        caching: 'ReadWrite',
        ...osDisk,
        managedDisk: {
          storageAccountType: 'Premium_LRS',
          ...osDisk?.managedDisk,
          ...(disk === undefined ? {} : { id: this.id('Microsoft.Compute', 'disks', disk) }),
        },
      },
    }
  }

  nics(machine: Machine): readonly Record<string, unknown>[] {
    const addresses = machine.addresses.values()
    return nicConfigurations(machine).map((nic) => this.#nic(machine, nic, addresses))
  }

  #nic(
    machine: Machine,
    nic: NetworkInterfaceConfiguration,
    addresses: Iterator<Address, unknown>,
  ): Record<string, unknown> {
    const id = this.id('Microsoft.Network', 'networkInterfaces', nic.name)
    // It says what becomes of the NIC, and belongs to the VM.
    const { deleteOption: _ofVm, ...properties } = nic.properties ?? {}
    return {
      id,
      name: nic.name,
      type: 'Microsoft.Network/networkInterfaces',
      location: machine.body.location,
      etag: etagOf(machine),
      tags: machine.partTags?.[nic.name] ?? nic.tags ?? {},
      properties: {
        dnsSettings: { dnsServers: [], appliedDnsServers: [] },
        ...properties,
        macAddress: macOf(id),
        provisioningState: 'Succeeded',
        virtualMachine: { id: this.id('Microsoft.Compute', 'virtualMachines', machine.name) },
        ipConfigurations: (nic.properties?.ipConfigurations ?? []).map(({ name, properties: own }) => ({
          id: `${id}/ipConfigurations/${name}`,
          name,
          etag: etagOf(machine),
          properties: {
            privateIPAddressVersion: 'IPv4',
            ...own,
            privateIPAddress: (addresses.next().value as Address | undefined)?.ip,
            privateIPAllocationMethod: 'Dynamic',
            provisioningState: 'Succeeded',
          },
        })),
      },
    }
  }

  extension(machine: Machine, { name, tags, properties, state }: Extension): Record<string, unknown> {
    return {
      id: `${this.id('Microsoft.Compute', 'virtualMachines', machine.name)}/extensions/${name}`,
      name,
      type: 'Microsoft.Compute/virtualMachines/extensions',
      location: machine.body.location,
      ...defined({ tags }),
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
        sku: { name: disk.managedDisk?.storageAccountType ?? 'Premium_LRS', tier: 'Premium' },
        properties: {
          osType: 'Linux',
          timeCreated: machine.timeCreated,
          uniqueId: uuidOf(`disk ${machine.vmId}`),
          diskSizeGB: disk.diskSizeGB,
          diskState: 'Attached',
          provisioningState: 'Succeeded',
        },
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
          ...defined({ reserved }),
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
