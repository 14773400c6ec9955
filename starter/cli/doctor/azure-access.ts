import { type TokenResult, tokenLimitMs } from '../../../activities/azure/arm/access-token.ts'
import { apiVersionOf, parseApiVersions } from '../../../activities/azure/arm/api-versions.ts'
import { parseSubnet } from '../../../activities/azure/launch/subnet.ts'
import { ArmRefusal } from '../../picture/arm-reader.ts'
import { type Check, fail, ok, reason } from './check.ts'
import { type DoctorContext, groupId, roleAssignment } from './context.ts'

/** Whether Azure gives this process a token, and whose. */
export function identityCheck({ identity }: DoctorContext, token: Promise<TokenResult>): Check {
  return {
    name: 'identity',
    remedy: 'check AZURE_TENANT_ID, AZURE_CLIENT_ID and the authority of ARM_CLOUD',
    limitMs: tokenLimitMs + 2000,
    run: async () => {
      const how = `${identity.kind} (${identity.because})`
      const result = await token
      if (result.kind === 'failed') return fail(`${how}: ${result.message}`, [result.remedy])
      const { objectId, clientId } = result.owner
      return ok(`${how}: a token within ${result.ms} ms, client id ${clientId || '?'}, object id ${objectId || '?'}`)
    },
  }
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
  return [
    ofGroup('Microsoft.Compute', 'virtualMachines'),
    ofGroup('Microsoft.Compute', 'disks'),
    ofGroup('Microsoft.Network', 'networkInterfaces'),
    ofGroup('Microsoft.Network', 'networkSecurityGroups'),
    ofGroup('Microsoft.Network', 'loadBalancers'),
    read('usages', `${subscription}/providers/Microsoft.Compute/locations/${config.LOCATION}/usages`),
    read('skus', `${subscription}/providers/Microsoft.Compute/skus`, inRegion),
    ...(config.USE_SIG
      ? [
          read(
            'nodeImageVersions',
            `${subscription}/providers/Microsoft.ContainerService/locations/${config.LOCATION}/nodeImageVersions`,
          ),
        ]
      : []),
    ...(config.NODE_OSDISK_DISKENCRYPTIONSET_ID === ''
      ? []
      : [read('the disk encryption set', config.NODE_OSDISK_DISKENCRYPTIONSET_ID)]),
  ]
}

/** Whether everything that Joiner reads of Azure can be read, by reading it. */
export function readsCheck(context: DoctorContext): Check {
  return {
    name: 'azure reads',
    remedy: `check that ${context.arm.endpoint} can be reached from here: curl -sS ${context.arm.endpoint}/`,
    limitMs: 30_000,
    run: async (signal) => {
      const owner = await context.owner
      const all = reads(context)
      const results = await Promise.all(
        all.map(async (read) => ({ read, problem: await problemOf(context, read, signal) })),
      )
      const bad = results.filter(({ problem }) => problem !== undefined)
      if (bad.length === 0) return ok(`${all.map(({ what }) => what).join(', ')} can be read`)
      const remedies = new Set(bad.map(({ read, problem }) => readRemedy(context, { read, problem }, owner)))
      return fail(
        `${bad.length} of ${all.length} reads fail: ${bad.map(({ read }) => read.what).join(', ')}`,
        [...remedies],
        bad.map(({ read, problem }) => `${read.what}: ${reason(problem)}`),
      )
    },
  }
}

async function problemOf({ arm }: DoctorContext, { path }: Read, signal: AbortSignal): Promise<unknown> {
  try {
    await arm.get(path, signal)
    return undefined
  } catch (error) {
    return error
  }
}

function readRemedy(
  { config, identity, arm }: DoctorContext,
  { read: { what }, problem }: { readonly read: Read; readonly problem: unknown },
  owner: Awaited<DoctorContext['owner']>,
): string {
  const who = { owner, clientId: identity.settings.clientId }
  const subscription = `/subscriptions/${config.ARM_SUBSCRIPTION_ID}`
  if (!(problem instanceof ArmRefusal))
    return `check that ${arm.endpoint} can be reached from here: curl -sS ${arm.endpoint}/`
  if (problem.code === 'SubscriptionNotFound')
    return 'set ARM_SUBSCRIPTION_ID to the subscription of the cluster: az account show --query id -o tsv'
  if (problem.code === 'ResourceGroupNotFound')
    return `set AZURE_NODE_RESOURCE_GROUP to what this prints: az aks show --name ${config.CLUSTER_NAME} --resource-group GROUP-OF-THE-CLUSTER --query nodeResourceGroup -o tsv`
  if (problem.code === 'NoRegisteredProviderFound')
    return `LOCATION "${config.LOCATION}" must be the region of the cluster: az aks show --name ${config.CLUSTER_NAME} --resource-group GROUP-OF-THE-CLUSTER --query location -o tsv`
  if (problem.status !== 403)
    return `ask again later; if it stays so, look into the activity log: az monitor activity-log list --offset 1h`
  if (what === 'the disk encryption set') return roleAssignment('Reader', config.NODE_OSDISK_DISKENCRYPTIONSET_ID, who)
  if (['skus', 'usages', 'nodeImageVersions'].includes(what)) return roleAssignment('Reader', subscription, who)
  const isCompute = what === 'virtualMachines' || what === 'disks'
  return roleAssignment(isCompute ? 'Virtual Machine Contributor' : 'Network Contributor', groupId(config), who)
}

/** A subnet's parts for commands of az. */
export function subnetArguments(id: string): string {
  const subnet = parseSubnet(id)
  return subnet === undefined
    ? `--ids ${id}`
    : `--resource-group ${subnet.resourceGroup} --vnet-name ${subnet.vnet} --name ${subnet.name}`
}
