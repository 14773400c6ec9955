import { apiVersionOf, parseApiVersions } from '../../../activities/azure/arm/api-versions.ts'
import { parseSubnet, type SubnetAddresses, subnetSpace } from '../../../activities/azure/launch/subnet.ts'
import { maxPodsOf } from '../../../activities/azure/node-class/node-class-settings.ts'
import type { NodePool } from '../../../core/objects.ts'
import { quantityValue, subtractQuantity, zero } from '../../../core/values/quantity.ts'
import { present } from '../../document/words.ts'
import { ArmRefusal } from '../../picture/arm-reader.ts'
import { whyOf } from '../../picture/missing.ts'
import { type DoctorContext, type Finding, fail, groupId, ok, roleAssignment, warn, worst } from './check.ts'

/** Whether Azure gives this process a token, and whose. */
export async function examineIdentity({ identity, token }: DoctorContext): Promise<Finding> {
  const how = `${identity.kind} (${identity.because})`
  const result = await token
  if (result.kind === 'failed') return fail(`${how}: ${result.message}`, [result.remedy])
  const { objectId, clientId } = result.owner
  return ok(`${how}: a token within ${result.ms} ms, client id ${clientId || '?'}, object id ${objectId || '?'}`)
}

interface Read {
  readonly what: string
  readonly path: string
}

/** Everything that Joiner reads of Azure, once each, with the API versions that it uses. */
function reads({ config }: DoctorContext): readonly Read[] {
  const subscription = `/subscriptions/${config.ARM_SUBSCRIPTION_ID}`
  const group = groupId(config)
  const overrides = parseApiVersions(config.JOINER_AZURE_API_VERSIONS)
  const read = (what: string, path: string, filter = ''): Read => ({
    what,
    path: `${path}?api-version=${apiVersionOf(path, overrides)}${filter}`,
  })
  const ofGroup = (provider: string, type: string) => read(type, `${group}/providers/${provider}/${type}`)
  const inRegion = `&$filter=${encodeURIComponent(`location eq '${config.LOCATION}'`)}`
  return present(
    ofGroup('Microsoft.Compute', 'virtualMachines'),
    ofGroup('Microsoft.Compute', 'disks'),
    ofGroup('Microsoft.Network', 'networkInterfaces'),
    ofGroup('Microsoft.Network', 'networkSecurityGroups'),
    ofGroup('Microsoft.Network', 'loadBalancers'),
    read('usages', `${subscription}/providers/Microsoft.Compute/locations/${config.LOCATION}/usages`),
    read('skus', `${subscription}/providers/Microsoft.Compute/skus`, inRegion),
    config.USE_SIG &&
      read(
        'nodeImageVersions',
        `${subscription}/providers/Microsoft.ContainerService/locations/${config.LOCATION}/nodeImageVersions`,
      ),
    config.NODE_OSDISK_DISKENCRYPTIONSET_ID !== '' &&
      read('the disk encryption set', config.NODE_OSDISK_DISKENCRYPTIONSET_ID),
  )
}

/** Whether everything that Joiner reads of Azure can be read, by reading it. */
export async function examineReads(context: DoctorContext, signal: AbortSignal): Promise<Finding> {
  const all = reads(context)
  const results = await Promise.all(
    all.map(async (read) => ({ read, problem: await problemOf(context, read, signal) })),
  )
  const bad = results.filter(({ problem }) => problem !== undefined)
  if (bad.length === 0) return ok(`${all.map(({ what }) => what).join(', ')} can be read`)
  const remedies = new Set(await Promise.all(bad.map(({ read, problem }) => readRemedy(context, read, problem))))
  return fail(
    `${bad.length} of ${all.length} reads fail: ${bad.map(({ read }) => read.what).join(', ')}`,
    [...remedies],
    bad.map(({ read, problem }) => `${read.what}: ${whyOf(problem)}`),
  )
}

/** What to do where ARM gives no answer. */
export const reachArm = ({ arm }: DoctorContext) =>
  `check that ${arm.endpoint} can be reached from here: curl -sS ${arm.endpoint}/`

async function problemOf({ arm }: DoctorContext, { path }: Read, signal: AbortSignal): Promise<unknown> {
  try {
    await arm.get(path, signal)
    return undefined
  } catch (error) {
    return error
  }
}

async function readRemedy(context: DoctorContext, { what }: Read, problem: unknown): Promise<string> {
  const { config } = context
  const subscription = `/subscriptions/${config.ARM_SUBSCRIPTION_ID}`
  if (!(problem instanceof ArmRefusal)) return reachArm(context)
  if (problem.code === 'SubscriptionNotFound')
    return 'set ARM_SUBSCRIPTION_ID to the subscription of the cluster: az account show --query id -o tsv'
  if (problem.code === 'ResourceGroupNotFound')
    return `set AZURE_NODE_RESOURCE_GROUP to what this prints: az aks show --name ${config.CLUSTER_NAME} --resource-group GROUP-OF-THE-CLUSTER --query nodeResourceGroup -o tsv`
  if (problem.code === 'NoRegisteredProviderFound')
    return `LOCATION "${config.LOCATION}" must be the region of the cluster: az aks show --name ${config.CLUSTER_NAME} --resource-group GROUP-OF-THE-CLUSTER --query location -o tsv`
  if (problem.status !== 403)
    return `ask again later; if it stays so, look into the activity log: az monitor activity-log list --offset 1h`
  if (what === 'the disk encryption set')
    return roleAssignment(context, 'Reader', config.NODE_OSDISK_DISKENCRYPTIONSET_ID)
  if (['skus', 'usages', 'nodeImageVersions'].includes(what)) return roleAssignment(context, 'Reader', subscription)
  const isCompute = what === 'virtualMachines' || what === 'disks'
  return roleAssignment(context, isCompute ? 'Virtual Machine Contributor' : 'Network Contributor', groupId(config))
}

/** A subnet's parts for commands of az. */
export function subnetArguments(id: string): string {
  const subnet = parseSubnet(id)
  return subnet === undefined
    ? `--ids ${id}`
    : `--resource-group ${subnet.resourceGroup} --vnet-name ${subnet.vnet} --name ${subnet.name}`
}

/** A NodePool without limits is worth a warning when fewer nodes than this fit. */
const scarceNodes = 20

interface SubnetJson {
  readonly properties?: SubnetAddresses
}

/** Whether the subnets in use have addresses for what NodePools may grow to. */
export async function examineSubnets(context: DoctorContext, signal: AbortSignal): Promise<Finding> {
  const { nodeClasses } = await context.pools()
  const ids = new Set([context.config.VNET_SUBNET_ID, ...nodeClasses.flatMap(({ spec }) => spec.vnetSubnetID ?? [])])
  return worst(await Promise.all([...ids].map((id) => subnetFinding(context, id, signal))))
}

async function subnetFinding(context: DoctorContext, id: string, signal: AbortSignal): Promise<Finding> {
  const { arm, config, pools } = context
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

async function subnetRefusal(context: DoctorContext, id: string, error: ArmRefusal): Promise<Finding> {
  const { config } = context
  const reported = `subnet ${id}: ${whyOf(error)}`
  if (error.status === 404)
    return fail(reported, [
      `set azure.subnetId of the chart (VNET_SUBNET_ID) to what this prints: az network vnet subnet list --resource-group ${config.AZURE_NODE_RESOURCE_GROUP} --vnet-name NAME-OF-THE-VNET --query "[].id" -o tsv, or, with a network of your own: az aks show --name ${config.CLUSTER_NAME} --resource-group GROUP-OF-THE-CLUSTER --query "agentPoolProfiles[0].vnetSubnetId" -o tsv`,
    ])
  if (error.status === 403) return fail(reported, [await roleAssignment(context, 'Network Contributor', id)])
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
