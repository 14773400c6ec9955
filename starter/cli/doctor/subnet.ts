import { type SubnetAddresses, subnetSpace } from '../../../activities/azure/launch/subnet.ts'
import { maxPodsOf } from '../../../activities/azure/node-class/node-class-settings.ts'
import type { NodePool } from '../../../core/objects.ts'
import { quantityValue, subtractQuantity, zero } from '../../../core/values/quantity.ts'
import { ArmRefusal } from '../../picture/arm-reader.ts'
import { subnetArguments } from './azure-access.ts'
import { type Check, type Finding, fail, ok, reason, warn, worst } from './check.ts'
import { type DoctorContext, roleAssignment } from './context.ts'

/** A NodePool without limits is worth a warning when fewer nodes than this fit. */
const scarceNodes = 20

interface SubnetJson {
  readonly properties?: SubnetAddresses
}

/** Whether the subnets in use have addresses for what NodePools may grow to. */
export function subnetCheck(context: DoctorContext): Check {
  const { config, arm } = context
  return {
    name: 'subnet',
    remedy: `look at the subnet: az network vnet subnet show ${subnetArguments(config.VNET_SUBNET_ID)}`,
    run: async (signal) => {
      const { nodeClasses } = await context.pools()
      const ids = new Set([config.VNET_SUBNET_ID, ...nodeClasses.flatMap(({ spec }) => spec.vnetSubnetID ?? [])])
      const findings = await Promise.all([...ids].map((id) => oneSubnet(context, id, signal)))
      return worst(findings)
    },
  }

  async function oneSubnet({ pools }: DoctorContext, id: string, signal: AbortSignal): Promise<Finding> {
    let subnet: SubnetJson
    try {
      subnet = await arm.get<SubnetJson>(`${id}?api-version=2024-05-01`, signal)
    } catch (error) {
      if (!(error instanceof ArmRefusal)) throw error
      return subnetRefusal(context, id, error)
    }
    const { addressPrefix, addressPrefixes = [] } = subnet.properties ?? {}
    const prefixes = addressPrefix === undefined ? addressPrefixes : [addressPrefix]
    const { size, free } = subnetSpace(subnet.properties ?? {})
    const perNode = addressesPerNode(config)
    const room = Math.floor(free / perNode)
    const wanted = mostNodes((await pools()).nodePools)
    const name = id.slice(id.lastIndexOf('/') + 1)
    const reported = `subnet ${name} (${prefixes.join(', ')}) has ${free} of ${size} addresses free, room for ${room} nodes with ${perNode} each`
    const remedies = [
      `give the nodes more room: az network vnet subnet update ${subnetArguments(id)} --address-prefixes A-LARGER-PREFIX, or point azure.subnetId (VNET_SUBNET_ID) or spec.vnetSubnetID of an AKSNodeClass at a larger subnet`,
      'or lower spec.limits of the NodePools: kubectl get nodepools -o custom-columns=NAME:.metadata.name,LIMITS:.spec.limits',
    ]
    if (room === 0) return fail(`${reported}: no node can be made`, remedies)
    if (wanted !== undefined && wanted > room)
      return warn(`${reported}, and the NodePools' limits allow up to ${wanted} more`, remedies)
    if (wanted === undefined && room < scarceNodes) return warn(`${reported}; not every NodePool has limits`, remedies)
    return ok(wanted === undefined ? reported : `${reported}; the NodePools' limits allow up to ${wanted} more`)
  }
}

async function subnetRefusal(context: DoctorContext, id: string, error: ArmRefusal): Promise<Finding> {
  const { config, identity } = context
  const reported = `subnet ${id}: ${reason(error)}`
  if (error.status === 404)
    return fail(reported, [
      `set azure.subnetId of the chart (VNET_SUBNET_ID) to what this prints: az network vnet subnet list --resource-group ${config.AZURE_NODE_RESOURCE_GROUP} --vnet-name NAME-OF-THE-VNET --query "[].id" -o tsv, or, with a network of your own: az aks show --name ${config.CLUSTER_NAME} --resource-group GROUP-OF-THE-CLUSTER --query "agentPoolProfiles[0].vnetSubnetId" -o tsv`,
    ])
  if (error.status === 403)
    return fail(reported, [
      roleAssignment('Network Contributor', id, { owner: await context.owner, clientId: identity.settings.clientId }),
    ])
  throw error
}

/** Only where pods have addresses of the subnet does a node need more than one. */
function addressesPerNode(config: DoctorContext['config']): number {
  const isNodeSubnet = config.NETWORK_PLUGIN === 'azure' && config.NETWORK_PLUGIN_MODE === ''
  return isNodeSubnet ? 1 + maxPodsOf(config.NETWORK_PLUGIN, config.NETWORK_PLUGIN_MODE) : 1
}

/** The fewest vCPUs that a node is taken to have where only cpu is limited. */
const smallestNode = 2

/** How many more nodes the limits allow at most; undefined when a pool has none. */
function mostNodes(pools: readonly NodePool[]): number | undefined {
  let sum = 0
  for (const { limits, resources, nodes = 0 } of pools) {
    const byNodes = limits['nodes'] === undefined ? undefined : Number(quantityValue(limits['nodes'])) - nodes
    const cpu = limits['cpu']
    const left = cpu === undefined ? undefined : subtractQuantity(cpu, resources?.['cpu'] ?? zero)
    const byCpu = left === undefined ? undefined : Math.ceil(Number(quantityValue(left)) / smallestNode)
    const most = [byNodes, byCpu].filter((count) => count !== undefined)
    if (most.length === 0) return undefined
    sum += Math.max(0, Math.min(...most))
  }
  return sum
}
