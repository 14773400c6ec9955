import type { SimulatorConfig } from './config.ts'
import { type Leftover, type Machine, nicConfigurations, type Part, type PartType } from './machines.ts'

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
        ...(withInstanceView ? { instanceView: { statuses: statuses(machine) } } : {}),
      },
    }
  }

  nics(machine: Machine): readonly Record<string, unknown>[] {
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
            privateIPAddress: machine.ip,
            privateIPAllocationMethod: 'Dynamic',
            provisioningState: 'Succeeded',
          },
        })),
      },
    }))
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
    const kept = new Set(
      nicConfigurations(machine)
        .filter((nic) => machine.keepsNics === true || nic.properties?.deleteOption !== 'Delete')
        .map(({ name }) => name),
    )
    const nics = this.nics(machine)
      .filter((nic) => kept.has(String(nic['name'])))
      .map((nic): Leftover => {
        const { virtualMachine: _gone, ...properties } = nic['properties'] as Record<string, unknown>
        return { type: 'networkInterfaces', name: String(nic['name']), resource: { ...nic, properties } }
      })
    if (machine.body.properties.storageProfile?.osDisk?.deleteOption === 'Delete') return nics
    const disks = this.disks(machine).map(({ managedBy: _gone, ...disk }): Leftover => {
      const properties = { ...(disk['properties'] as Record<string, unknown>), diskState: 'Unattached' }
      return { type: 'disks', name: String(disk['name']), resource: { ...disk, properties } }
    })
    return [...nics, ...disks]
  }

  subnet(): Record<string, unknown> {
    const { subnetId } = this.#config
    return {
      id: subnetId,
      name: subnetId.slice(subnetId.lastIndexOf('/') + 1),
      properties: { addressPrefix: '10.224.0.0/16', provisioningState: 'Succeeded' },
    }
  }

  /** The network that the subnet lies in. */
  virtualNetwork(): Record<string, unknown> {
    const id = this.#config.subnetId.replace(/\/subnets\/[^/]+$/i, '')
    return {
      id,
      name: id.slice(id.lastIndexOf('/') + 1),
      type: 'Microsoft.Network/virtualNetworks',
      location: this.#config.location,
      properties: {
        addressSpace: { addressPrefixes: ['10.224.0.0/12'] },
        resourceGuid: '00000000-0000-4000-8000-0000000000aa',
        provisioningState: 'Succeeded',
      },
    }
  }

  networkSecurityGroup(): Record<string, unknown> {
    const name = 'aks-agentpool-12345678-nsg'
    return {
      id: this.id('Microsoft.Network', 'networkSecurityGroups', name),
      name,
      type: 'Microsoft.Network/networkSecurityGroups',
      location: this.#config.location,
      properties: { provisioningState: 'Succeeded', securityRules: [] },
    }
  }

  /** The two load balancers of an AKS cluster with services of both kinds: outbound and public, and internal. */
  loadBalancers(): readonly Record<string, unknown>[] {
    return [
      this.#loadBalancer('kubernetes', ['kubernetes', 'aksOutboundBackendPool']),
      this.#loadBalancer('kubernetes-internal', ['kubernetes']),
    ]
  }

  /** Ids of the backend pools that a NIC may join. */
  poolIds(): readonly string[] {
    return this.loadBalancers().flatMap(({ properties }) =>
      (properties as { backendAddressPools: readonly { id: string }[] }).backendAddressPools.map(({ id }) => id),
    )
  }

  #loadBalancer(name: string, pools: readonly string[]): Record<string, unknown> {
    const id = this.id('Microsoft.Network', 'loadBalancers', name)
    return {
      id,
      name,
      type: 'Microsoft.Network/loadBalancers',
      location: this.#config.location,
      sku: { name: 'Standard', tier: 'Regional' },
      properties: {
        provisioningState: 'Succeeded',
        backendAddressPools: pools.map((pool) => ({
          id: `${id}/backendAddressPools/${pool}`,
          name: pool,
          type: 'Microsoft.Network/loadBalancers/backendAddressPools',
          properties: { provisioningState: 'Succeeded' },
        })),
      },
    }
  }
}

function tagsOf({ partTags }: Machine, name: string): { readonly tags?: Readonly<Record<string, string>> } {
  const tags = partTags?.[name]
  return tags === undefined ? {} : { tags }
}

function statuses({ state, failure, power }: Machine): readonly Record<string, unknown>[] {
  const provisioning =
    state === 'Failed'
      ? {
          code: `ProvisioningState/failed/${failure?.code ?? 'UnknownError'}`,
          level: 'Error',
          displayStatus: 'Provisioning failed',
          message: failure?.message ?? '',
        }
      : { code: `ProvisioningState/${state.toLowerCase()}`, level: 'Info', displayStatus: state }
  return [
    provisioning,
    { code: `PowerState/${power === 'frozen' ? 'running' : power}`, level: 'Info', displayStatus: power },
  ]
}
