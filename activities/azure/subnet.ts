/** A subnet's id, taken apart. */
export interface SubnetId {
  readonly subscriptionId: string
  readonly resourceGroup: string
  readonly vnet: string
  readonly name: string
}

const shape =
  /^\/subscriptions\/([^/]*)\/resourceGroups\/([^/]*)\/providers\/Microsoft\.Network\/virtualNetworks\/([^/]*)\/subnets\/([^/]*)$/i

/** Reads a subnet's id; undefined when the text is none. */
export function parseSubnet(id: string): SubnetId | undefined {
  const match = shape.exec(id)
  if (match === null) return undefined
  const [, subscriptionId = '', resourceGroup = '', vnet = '', name = ''] = match
  return { subscriptionId, resourceGroup, vnet, name }
}

/** Whether a subnet is the one that AKS itself made for a cluster (reference/azure-provider.md 4.4). */
export function isAksManaged({ vnet, name, resourceGroup }: SubnetId, nodeResourceGroup: string): boolean {
  return (
    /^aks-vnet-\d{8}$/.test(vnet) &&
    name === 'aks-subnet' &&
    resourceGroup.toLowerCase() === nodeResourceGroup.toLowerCase()
  )
}
