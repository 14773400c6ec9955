import { clustersOf } from '../access/cluster-body.ts'
import type { SimulatorConfig } from '../server/config.ts'
import type { Table } from '../server/journal.ts'
import type { LoadBalancer, NetworkSecurityGroup, Subnet, VirtualNetwork } from './network-settings.ts'

export interface KnownSubnet extends Subnet {
  readonly id: string
  readonly network: VirtualNetwork
}

/** A resource group that was PUT. */
export interface MadeGroup {
  readonly name: string
  readonly tags?: Readonly<Record<string, string>>
}

const defaultGuid = '00000000-0000-4000-8000-0000000000aa'

/** The network as it is set up now: what there is, by id. */
export class NetworkSetup {
  readonly #config: SimulatorConfig
  /** Resource groups that were PUT. */
  readonly madeGroups: Table<MadeGroup>

  constructor(config: SimulatorConfig, madeGroups: Table<MadeGroup>) {
    this.#config = config
    this.madeGroups = madeGroups
  }

  get virtualNetworks(): readonly VirtualNetwork[] {
    return this.#config.network?.virtualNetworks ?? [this.#defaultNetwork()]
  }

  get networkSecurityGroups(): readonly NetworkSecurityGroup[] {
    return this.#config.network?.networkSecurityGroups ?? [{ name: 'aks-agentpool-12345678-nsg' }]
  }

  /** By default the two of an AKS cluster with services of both kinds: outbound and public, and internal. */
  get loadBalancers(): readonly LoadBalancer[] {
    return (
      this.#config.network?.loadBalancers ?? [
        { name: 'kubernetes', backendPools: ['kubernetes', 'aksOutboundBackendPool'] },
        { name: 'kubernetes-internal', backendPools: ['kubernetes'] },
      ]
    )
  }

  subnet(id: string): KnownSubnet | undefined {
    return this.subnets.find((subnet) => subnet.id.toLowerCase() === id.toLowerCase())
  }

  get subnets(): readonly KnownSubnet[] {
    return this.virtualNetworks.flatMap((network) =>
      network.subnets.map((subnet) => ({
        ...subnet,
        network,
        id: `${this.networkId(network)}/subnets/${subnet.name}`,
      })),
    )
  }

  networkId({ name, resourceGroup }: VirtualNetwork): string {
    const { subscriptionId, nodeResourceGroup } = this.#config
    return `/subscriptions/${subscriptionId}/resourceGroups/${resourceGroup ?? nodeResourceGroup}/providers/Microsoft.Network/virtualNetworks/${name}`
  }

  /** Resource groups that there are: that of the nodes, and those of networks, disk encryption sets and clusters, and those that were made. */
  get groups(): readonly string[] {
    const { nodeResourceGroup, diskEncryptionSets = [] } = this.#config
    const all = [
      ...this.madeGroups.all.map(({ name }) => name),
      nodeResourceGroup,
      ...this.virtualNetworks.map(({ resourceGroup }) => resourceGroup ?? nodeResourceGroup),
      ...clustersOf(this.#config).flatMap((cluster) => [cluster.resourceGroup, cluster.nodeResourceGroup]),
      ...diskEncryptionSets.map((id) => /\/resourceGroups\/([^/]+)/i.exec(id)?.[1] ?? ''),
    ]
    return [...new Map(all.toReversed().map((name) => [name.toLowerCase(), name])).values()].sort()
  }

  hasGroup(group: string): boolean {
    return this.groups.some((name) => name.toLowerCase() === group.toLowerCase())
  }

  #defaultNetwork(): VirtualNetwork {
    const [, resourceGroup, name = 'aks-vnet', subnet = 'aks-subnet'] =
      /\/resourceGroups\/([^/]+)\/.*\/virtualNetworks\/([^/]+)\/subnets\/([^/]+)$/i.exec(this.#config.subnetId) ?? []
    return {
      name,
      ...(resourceGroup === undefined ? {} : { resourceGroup }),
      resourceGuid: defaultGuid,
      subnets: [{ name: subnet, prefix: '10.224.0.0/16' }],
    }
  }
}
