/** The networks around the VMs. What is given of a kind replaces the default of that kind. */
export interface NetworkSettings {
  /** Default: the one of the configured subnet, `10.224.0.0/16`. */
  readonly virtualNetworks?: readonly VirtualNetwork[]
  /** Default: one, named as AKS names it. */
  readonly networkSecurityGroups?: readonly NetworkSecurityGroup[]
  /** Default: `kubernetes` and `kubernetes-internal`. */
  readonly loadBalancers?: readonly LoadBalancer[]
}

export interface VirtualNetwork {
  readonly name: string
  /** Default: the node resource group. */
  readonly resourceGroup?: string
  readonly resourceGuid?: string
  readonly subnets: readonly Subnet[]
}

export interface Subnet {
  readonly name: string
  /** Such as `10.224.0.0/24`. Azure keeps five of its addresses. */
  readonly prefix: string
  /** Addresses that others than the simulator's VMs hold. Default 0. */
  readonly othersHold?: number
  /** Name of its NSG, in the node resource group. */
  readonly networkSecurityGroup?: string
}

export interface NetworkSecurityGroup {
  readonly name: string
  readonly tags?: Readonly<Record<string, string>>
  /** Bodies of security rules as ARM shows them. */
  readonly securityRules?: readonly Readonly<Record<string, unknown>>[]
}

export interface LoadBalancer {
  readonly name: string
  /** Names of its backend pools. */
  readonly backendPools: readonly string[]
}
