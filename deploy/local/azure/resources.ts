import type { SimulatorConfig } from './config.ts'
import type { Machine } from './machines.ts'

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
          networkInterfaces: this.nicNames(machine).map((name) => ({
            id: this.id('Microsoft.Network', 'networkInterfaces', name),
          })),
        },
        ...(withInstanceView ? { instanceView: { statuses: statuses(machine) } } : {}),
      },
    }
  }

  nicNames(machine: Machine): readonly string[] {
    return (machine.body.properties.networkProfile?.networkInterfaceConfigurations ?? []).map(({ name }) => name)
  }

  nics(machine: Machine): readonly Record<string, unknown>[] {
    return (machine.body.properties.networkProfile?.networkInterfaceConfigurations ?? []).map((nic) => ({
      id: this.id('Microsoft.Network', 'networkInterfaces', nic.name),
      name: nic.name,
      type: 'Microsoft.Network/networkInterfaces',
      location: machine.body.location,
      tags: machine.body.tags ?? {},
      properties: {
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

  disks(machine: Machine): readonly Record<string, unknown>[] {
    const disk = machine.body.properties.storageProfile?.osDisk
    if (disk?.name === undefined) return []
    return [
      {
        id: this.id('Microsoft.Compute', 'disks', disk.name),
        name: disk.name,
        location: machine.body.location,
        properties: { diskSizeGB: disk.diskSizeGB, diskState: 'Attached' },
      },
    ]
  }

  subnet(): Record<string, unknown> {
    const { subnetId } = this.#config
    return {
      id: subnetId,
      name: subnetId.slice(subnetId.lastIndexOf('/') + 1),
      properties: { addressPrefix: '10.224.0.0/16', provisioningState: 'Succeeded' },
    }
  }

  networkSecurityGroup(): Record<string, unknown> {
    const name = 'aks-agentpool-12345678-nsg'
    return {
      id: this.id('Microsoft.Network', 'networkSecurityGroups', name),
      name,
      location: this.#config.location,
      properties: { provisioningState: 'Succeeded', securityRules: [] },
    }
  }

  loadBalancer(): Record<string, unknown> {
    const id = this.id('Microsoft.Network', 'loadBalancers', 'kubernetes')
    return {
      id,
      name: 'kubernetes',
      location: this.#config.location,
      properties: {
        provisioningState: 'Succeeded',
        backendAddressPools: [{ id: `${id}/backendAddressPools/kubernetes`, name: 'kubernetes', properties: {} }],
      },
    }
  }
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
    { code: `PowerState/${power === 'stopped' ? 'stopped' : 'running'}`, level: 'Info', displayStatus: power },
  ]
}
