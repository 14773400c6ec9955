import type { SimulatorConfig } from '../server/config.ts'
import type { Journal } from '../server/journal.ts'
import type { Machines } from '../virtual-machines/machines.ts'
import { type KnownSubnet, NetworkSetup } from './network-setup.ts'

/** ARM bodies of networks, security groups and load balancers. */
export class NetworkResources {
  readonly setup: NetworkSetup
  readonly #config: SimulatorConfig
  readonly #machines: Machines

  constructor(config: SimulatorConfig, machines: Machines, journal: Journal) {
    this.#config = config
    this.#machines = machines
    this.setup = new NetworkSetup(config, journal.table('resourceGroups'))
  }

  get virtualNetworks(): readonly Record<string, unknown>[] {
    return this.setup.virtualNetworks.map((network) => ({
      id: this.setup.networkId(network),
      name: network.name,
      type: 'Microsoft.Network/virtualNetworks',
      location: this.#config.location,
      properties: {
        provisioningState: 'Succeeded',
        resourceGuid: network.resourceGuid ?? '',
        addressSpace: { addressPrefixes: network.subnets.map(({ prefix }) => prefix) },
        subnets: this.setup.subnets
          .filter((subnet) => this.setup.networkId(subnet.network) === this.setup.networkId(network))
          .map((subnet) => this.subnet(subnet)),
      },
    }))
  }

  /** With the IP configurations in it, as Azure gives them. */
  subnet(subnet: KnownSubnet): Record<string, unknown> {
    const { id, name, prefix, networkSecurityGroup } = subnet
    const wanted = id.toLowerCase()
    const ipConfigurations = this.#machines.all.flatMap((machine) =>
      machine.addresses
        .filter(({ subnetId }) => subnetId.toLowerCase() === wanted)
        .map(({ ip }) => ({ id: this.#id('networkInterfaces', `${machine.name}/ipConfigurations/${ip}`) })),
    )
    return {
      id,
      name,
      type: 'Microsoft.Network/virtualNetworks/subnets',
      properties: {
        addressPrefix: prefix,
        provisioningState: 'Succeeded',
        ...(networkSecurityGroup === undefined
          ? {}
          : { networkSecurityGroup: { id: this.#id('networkSecurityGroups', networkSecurityGroup) } }),
        ...(ipConfigurations.length === 0 ? {} : { ipConfigurations }),
      },
    }
  }

  /** Addresses of each subnet of a network, as `GET .../virtualNetworks/NAME/usages` says. */
  usages(network: string): readonly Record<string, unknown>[] {
    return this.setup.subnets
      .filter((subnet) => subnet.network.name.toLowerCase() === network.toLowerCase())
      .map((subnet) => {
        const { held, limit } = this.#machines.addresses.usage(subnet)
        const name = { localizedValue: 'Subnet size and usage', value: 'SubnetSpace' }
        return { id: subnet.id, currentValue: held, limit, name, unit: 'Count' }
      })
  }

  get networkSecurityGroups(): readonly Record<string, unknown>[] {
    return this.setup.networkSecurityGroups.map(({ name, tags, securityRules = [] }) => ({
      id: this.#id('networkSecurityGroups', name),
      name,
      type: 'Microsoft.Network/networkSecurityGroups',
      location: this.#config.location,
      ...(tags === undefined ? {} : { tags }),
      properties: { provisioningState: 'Succeeded', securityRules },
    }))
  }

  get loadBalancers(): readonly Record<string, unknown>[] {
    return this.setup.loadBalancers.map(({ name, backendPools }) => {
      const id = this.#id('loadBalancers', name)
      return {
        id,
        name,
        type: 'Microsoft.Network/loadBalancers',
        location: this.#config.location,
        sku: { name: 'Standard', tier: 'Regional' },
        properties: {
          provisioningState: 'Succeeded',
          backendAddressPools: backendPools.map((pool) => ({
            id: `${id}/backendAddressPools/${pool}`,
            name: pool,
            type: 'Microsoft.Network/loadBalancers/backendAddressPools',
            properties: { provisioningState: 'Succeeded' },
          })),
        },
      }
    })
  }

  /** Ids, in lower case, of what a NIC may refer to: backend pools and security groups. */
  get referable(): ReadonlySet<string> {
    const pools = this.setup.loadBalancers.flatMap(({ name, backendPools }) =>
      backendPools.map((pool) => `${this.#id('loadBalancers', name)}/backendAddressPools/${pool}`),
    )
    const groups = this.setup.networkSecurityGroups.map(({ name }) => this.#id('networkSecurityGroups', name))
    return new Set([...pools, ...groups].map((id) => id.toLowerCase()))
  }

  #id(type: string, name: string): string {
    const { subscriptionId, nodeResourceGroup } = this.#config
    return `/subscriptions/${subscriptionId}/resourceGroups/${nodeResourceGroup}/providers/Microsoft.Network/${type}/${name}`
  }
}
