import type { NodeClass } from '../../../api/objects.ts'
import { isNotFoundAnswer } from '../arm/azure-error.ts'
import type { AzureConfig } from '../azure-config.ts'
import { isAksManaged, parseSubnet, type SubnetAddresses, type SubnetId, subnetSpace } from '../launch/subnet.ts'
import type { AzureParts } from '../parts.ts'
import { type Finding, unread } from './finding.ts'
import type { NodeClassSettings } from './node-class-settings.ts'

export type SubnetStatusDeps = Pick<AzureParts, 'azure' | 'config'>

const type = 'SubnetsReady'

/** Checks the subnet's id, then whether it exists (reference/azure-provider.md 1.6). */
export async function findSubnet(
  deps: SubnetStatusDeps,
  nodeClass: NodeClass,
  settings: NodeClassSettings,
): Promise<Finding> {
  const { subnetId } = settings
  const checked = checkSubnet(subnetId, deps.config)
  const refused = (reason: string, message: string): Finding => ({
    conditions: [{ type, status: 'False', reason, message: `AKSNodeClass ${nodeClass.metadata.name}: ${message}` }],
  })
  if (checked.kind === 'invalid') return refused('SubnetIDInvalid', checked.message)
  const { resourceGroup, vnet, name } = checked.subnet
  try {
    const subnet = await deps.azure.network.subnets.get(resourceGroup, vnet, name)
    const scarcity = scarcityOf(subnet, addressesPerNode(settings, deps.config))
    return { conditions: [{ type, status: 'True', ...(scarcity === undefined ? {} : { message: scarcity }) }] }
  } catch (error) {
    if (isNotFoundAnswer(error))
      return refused('SubnetNotFound', `subnet "${subnetId}" does not exist; correct spec.vnetSubnetID`)
    return unread(nodeClass, { type, reason: 'SubnetUnknownError', what: `subnet "${subnetId}"` }, error)
  }
}

/** Room below which a subnet is reported, in nodes. */
const scarceNodes = 5

/**
 * Returns a warning about a subnet that is nearly full, where ARM shows it. It is no reason to stop: addresses come back, and Azure refuses what
 * does not fit. The text contains no count, so that the status is not written again with each node.
 */
export function scarcityOf(subnet: SubnetAddresses, perNode: number): string | undefined {
  const { size, free } = subnetSpace(subnet)
  if (size === 0 || free >= scarceNodes * perNode) return undefined
  const room = free < perNode ? 'no more node' : `fewer than ${scarceNodes} more nodes`
  return `the subnet has addresses for ${room} (${perNode} each); enlarge it, or choose a larger one`
}

/** Returns the addresses per node. A node needs more than one only where pods have addresses of the subnet. */
function addressesPerNode(
  { maxPods }: Pick<NodeClassSettings, 'maxPods'>,
  { networkPlugin, networkPluginMode }: AzureConfig,
): number {
  return networkPlugin === 'azure' && networkPluginMode !== 'overlay' ? Math.max(1, maxPods) : 1
}

/** A subnet that nodes may be in as far as its id shows, or why not. */
export type CheckedSubnet =
  | { readonly kind: 'subnet'; readonly subnet: SubnetId }
  | { readonly kind: 'invalid'; readonly message: string }

/**
 * Checks a subnet's id. Nodes must reach the cluster's other nodes, so their subnet must be in the cluster's network; in a network that AKS made
 * for the cluster there is no other subnet to choose. Ids are compared with regard to case, as upstream does (reference/azure-provider.md 1.6).
 */
export function checkSubnet(
  id: string,
  { subnetId, nodeResourceGroup }: Pick<AzureConfig, 'subnetId' | 'nodeResourceGroup'>,
): CheckedSubnet {
  const field = `spec.vnetSubnetID "${id}"`
  const invalid = (message: string): CheckedSubnet => ({ kind: 'invalid', message })
  const subnet = parseSubnet(id)
  if (subnet === undefined)
    return invalid(`${field} is not the id of a subnet; write /subscriptions/.../virtualNetworks/.../subnets/...`)
  if (id === subnetId) return { kind: 'subnet', subnet }
  const cluster = parseSubnet(subnetId)
  if (cluster === undefined)
    return invalid(`VNET_SUBNET_ID "${subnetId}" of the process is not the id of a subnet; correct it`)
  const differing = (['subscriptionId', 'resourceGroup', 'vnet'] as const).find(
    (part) => subnet[part] !== cluster[part],
  )
  if (differing !== undefined)
    return invalid(
      `${field} is outside of the cluster's network: its ${parts[differing]} "${subnet[differing]}" is not "${cluster[differing]}" (case matters); choose a subnet of that network`,
    )
  if (isAksManaged(cluster, nodeResourceGroup))
    return invalid(`${field} is in the network that AKS manages, which has no subnets for others; remove the field`)
  return { kind: 'subnet', subnet }
}

const parts = { subscriptionId: 'subscription', resourceGroup: 'resource group', vnet: 'virtual network' } as const
