/** The parts of a subnet's id. */
export interface SubnetId {
  readonly subscriptionId: string
  readonly resourceGroup: string
  readonly vnet: string
  readonly name: string
}

const shape =
  /^\/subscriptions\/([^/]*)\/resourceGroups\/([^/]*)\/providers\/Microsoft\.Network\/virtualNetworks\/([^/]*)\/subnets\/([^/]*)$/i

/** Parses a subnet's id; undefined when the text is none. */
export function parseSubnet(id: string): SubnetId | undefined {
  const match = shape.exec(id)
  if (match === null) return undefined
  const [, subscriptionId = '', resourceGroup = '', vnet = '', name = ''] = match
  return { subscriptionId, resourceGroup, vnet, name }
}

/** Returns whether a subnet is the one that AKS itself made for a cluster (reference/azure-provider.md 4.4). ARM's names know no case. */
export function isAksManaged({ vnet, name, resourceGroup }: SubnetId, nodeResourceGroup: string): boolean {
  return (
    /^aks-vnet-\d{8}$/i.test(vnet) &&
    name.toLowerCase() === 'aks-subnet' &&
    resourceGroup.toLowerCase() === nodeResourceGroup.toLowerCase()
  )
}

/** ARM's fields about a subnet's addresses. */
export interface SubnetAddresses {
  readonly addressPrefix?: string
  readonly addressPrefixes?: readonly string[]
  readonly ipConfigurations?: readonly unknown[]
}

/** Number of addresses that Azure keeps of each prefix (https://learn.microsoft.com/azure/virtual-network/virtual-networks-faq). */
const reservedAddresses = 5

/** Returns the number of addresses for nodes in a subnet, and of free ones. IPv6 counts for nothing: nodes have none. */
export function subnetSpace({ addressPrefix, addressPrefixes = [], ipConfigurations = [] }: SubnetAddresses): {
  readonly size: number
  readonly free: number
} {
  const prefixes = addressPrefix === undefined ? addressPrefixes : [addressPrefix]
  const size = prefixes.reduce((sum, prefix) => {
    const bits = /^[\d.]+\/(\d+)$/.exec(prefix)?.[1]
    return sum + (bits === undefined ? 0 : Math.max(0, 2 ** (32 - Number(bits)) - reservedAddresses))
  }, 0)
  return { size, free: Math.max(0, size - ipConfigurations.length) }
}
