import type { LoadBalancer, NetworkSecurityGroup } from '@azure/arm-network'
import type { Logger } from 'pino'
import { hasPassed } from '../../../core/values/time.ts'
import { LaunchBlocked } from '../arm/azure-failure.ts'

/** The cluster's own security group and the facts in its name (reference/azure-provider.md 4.4). */
export interface ClusterNetwork {
  readonly securityGroupId: string
  readonly securityGroupName: string
  readonly routeTableName: string
}

/** The backend pools that a node joins, and their list: pools are read again only for a caller that saw the newest list fail. */
export interface BackendPools {
  readonly ids: readonly string[]
  readonly generation: number
}

/** The network of one node. */
export type NodeNetwork = ClusterNetwork & { readonly poolIds: readonly string[] }

interface Lists {
  readonly securityGroups: () => AsyncIterable<NetworkSecurityGroup>
  readonly loadBalancers: () => AsyncIterable<LoadBalancer>
}

interface Options {
  readonly nodeResourceGroup: string
  readonly log: Logger
  readonly now: () => number
}

const poolsTtlMs = 2 * 3_600_000

/**
 * The facts of the cluster's network that every launch needs. They are listed once per process and shared by all launches, so only the first
 * launch after a start waits: the security group is kept for ever, the load balancers' pools for 2 hours or until Azure says that
 * one is gone.
 */
export class NetworkFacts {
  readonly #lists: Lists
  readonly #options: Options
  #network: Promise<ClusterNetwork> | undefined
  #pools: { readonly value: Promise<BackendPools>; readonly listedAtMs: number } | undefined
  #generation = 0

  constructor(lists: Lists, options: Options) {
    this.#lists = lists
    this.#options = options
  }

  /** Lists both in the background, so that the first launch finds them. A failure is reported by the launch that meets it again. */
  warm(): void {
    void Promise.all([this.network(), this.pools()]).catch((error: unknown) => {
      this.#options.log.warn({ err: error }, 'failed to read cluster network, retrying')
    })
  }

  /** Returns the network. Errors: none or several security groups have the name that AKS gives the cluster's; ARM's. */
  network(): Promise<ClusterNetwork> {
    if (this.#network === undefined) {
      const listed = this.#readNetwork()
      this.#network = listed
      listed.catch(() => {
        if (this.#network === listed) this.#network = undefined
      })
    }
    return this.#network
  }

  /** Returns the backend pools; none without load balancers. Errors: ARM's. */
  pools(): Promise<BackendPools> {
    const known = this.#pools
    if (known !== undefined && !hasPassed(poolsTtlMs, known.listedAtMs, this.#options.now())) return known.value
    return this.#listPools()
  }

  /** Reads the pools again, for a launch whose pools Azure did not find. Launches that failed alike share one list. */
  poolsAfter(stale: BackendPools): Promise<BackendPools> {
    return this.#generation > stale.generation ? this.pools() : this.#listPools()
  }

  #listPools(): Promise<BackendPools> {
    this.#generation += 1
    const value = this.#readPools(this.#generation)
    const listed = { value, listedAtMs: this.#options.now() }
    this.#pools = listed
    value.catch(() => {
      if (this.#pools === listed) this.#pools = undefined
    })
    return value
  }

  async #readNetwork(): Promise<ClusterNetwork> {
    const groups: NetworkSecurityGroup[] = []
    for await (const group of this.#lists.securityGroups()) groups.push(group)
    return clusterNetwork(groups, this.#options.nodeResourceGroup)
  }

  async #readPools(generation: number): Promise<BackendPools> {
    const ids: string[] = []
    for await (const balancer of this.#lists.loadBalancers()) ids.push(...backendPools(balancer))
    return { ids, generation }
  }
}

/** Returns the eight digits in the name that AKS gives a cluster's security group; undefined for any other name. */
export function clusterIdOf(securityGroupName: string): string | undefined {
  return /^aks-agentpool-(\d{8})-nsg$/i.exec(securityGroupName)?.[1]
}

/** Returns the one security group that AKS made for the cluster's nodes. */
function clusterNetwork(
  groups: readonly Pick<NetworkSecurityGroup, 'id' | 'name'>[],
  nodeResourceGroup: string,
): ClusterNetwork {
  const own = groups.filter(({ name = '' }) => clusterIdOf(name) !== undefined)
  const [group] = own
  if (group === undefined || own.length > 1) {
    const found = own.length === 0 ? 'none' : own.map(({ name }) => `"${name}"`).join(', ')
    const remedy =
      own.length === 0
        ? 'correct AZURE_NODE_RESOURCE_GROUP (az aks show --query nodeResourceGroup) and let the identity of Joiner read that group (role Network Contributor)'
        : 'delete those that are not of this cluster'
    throw new LaunchBlocked(
      'ClusterNetworkUnknown',
      `resource group "${nodeResourceGroup}": exactly one network security group named aks-agentpool-<8 digits>-nsg is needed, found ${found}; ${remedy}`,
    )
  }
  const { id = '', name = '' } = group
  return {
    securityGroupId: id,
    securityGroupName: name,
    routeTableName: `aks-agentpool-${clusterIdOf(name)}-routetable`,
  }
}

const clusterBalancers: ReadonlySet<string> = new Set(['kubernetes', 'kubernetes-internal'])
const ipv6Pools: ReadonlySet<string> = new Set(['aksoutboundbackendpool-ipv6', 'kubernetes-ipv6'])

/** Returns a load balancer's pools that nodes join by their NIC: AKS' own balancers, without IPv6 and without pools of addresses. */
function backendPools({ name = '', backendAddressPools = [] }: LoadBalancer): readonly string[] {
  if (!clusterBalancers.has(name.toLowerCase())) return []
  return backendAddressPools.flatMap(({ id, name: pool = '', loadBalancerBackendAddresses = [] }) => {
    const isOfAddresses = loadBalancerBackendAddresses.some(
      ({ ipAddress }) => ipAddress !== undefined && ipAddress !== '',
    )
    return id === undefined || ipv6Pools.has(pool.toLowerCase()) || isOfAddresses ? [] : [id]
  })
}
