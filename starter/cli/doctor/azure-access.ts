import { type TokenResult, tokenLimitMs } from '../../../activities/azure/arm/access-token.ts'
import { apiVersionOf, parseApiVersions } from '../../../activities/azure/arm/api-versions.ts'
import { parseSubnet } from '../../../activities/azure/launch/subnet.ts'
import { ArmRefusal } from './arm-reader.ts'
import { type Check, type Finding, fail, ok, reason, warn } from './check.ts'
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
  if (what === 'skus' || what === 'usages') return roleAssignment('Reader', subscription, who)
  const isCompute = what === 'virtualMachines' || what === 'disks'
  return roleAssignment(isCompute ? 'Virtual Machine Contributor' : 'Network Contributor', groupId(config), who)
}

interface Need {
  readonly scope: string
  readonly role: string
  readonly actions: readonly string[]
}

/** What Joiner does at Azure, by where it does it and the built-in role that allows it (reference/azure-provider.md 9.4). */
function needs({ config }: DoctorContext): readonly Need[] {
  const group = groupId(config)
  return [
    {
      scope: group,
      role: 'Virtual Machine Contributor',
      actions: [
        'Microsoft.Compute/virtualMachines/read',
        'Microsoft.Compute/virtualMachines/write',
        'Microsoft.Compute/virtualMachines/delete',
        'Microsoft.Compute/disks/delete',
        ...(config.JOINER_BILLING_EXTENSION ? ['Microsoft.Compute/virtualMachines/extensions/write'] : []),
      ],
    },
    {
      scope: group,
      role: 'Network Contributor',
      actions: [
        'Microsoft.Network/networkInterfaces/read',
        'Microsoft.Network/networkInterfaces/write',
        'Microsoft.Network/networkInterfaces/join/action',
        'Microsoft.Network/networkInterfaces/delete',
        'Microsoft.Network/networkSecurityGroups/read',
        'Microsoft.Network/networkSecurityGroups/join/action',
        'Microsoft.Network/loadBalancers/read',
        'Microsoft.Network/loadBalancers/backendAddressPools/join/action',
      ],
    },
    {
      scope: config.VNET_SUBNET_ID,
      role: 'Network Contributor',
      actions: [
        'Microsoft.Network/virtualNetworks/subnets/read',
        'Microsoft.Network/virtualNetworks/subnets/join/action',
      ],
    },
    ...config.NODE_IDENTITIES.map(
      (scope): Need => ({
        scope,
        role: 'Managed Identity Operator',
        actions: ['Microsoft.ManagedIdentity/userAssignedIdentities/assign/action'],
      }),
    ),
  ]
}

interface Permission {
  readonly actions?: readonly string[]
  readonly notActions?: readonly string[]
}

/** Whether Azure's roles allow every write that Joiner does, asked of ARM and without doing any. */
export function actionsCheck(context: DoctorContext): Check {
  return {
    name: 'azure roles',
    remedy: `list what the identity may do: az role assignment list --all --assignee ${context.identity.settings.clientId ?? 'CLIENT-ID'} -o table`,
    run: async (signal) => {
      const owner = await context.owner
      const found = await Promise.all(needs(context).map((need) => lacking(context, need, signal)))
      const who = { owner, clientId: context.identity.settings.clientId }
      const missing = found.filter(({ actions }) => actions.length > 0)
      if (missing.length > 0)
        return fail(
          `${missing.reduce((sum, { actions }) => sum + actions.length, 0)} actions are not allowed`,
          [...new Set(missing.map(({ role, scope }) => roleAssignment(role, scope, who)))],
          missing.flatMap(({ scope, actions }) => actions.map((action) => `${action} on ${scope}`)),
        )
      return withIdentities(context)
    },
  }
}

function withIdentities({ config }: DoctorContext): Finding {
  const what = "VMs, NICs, disks, the subnet and the nodes' identities may be used"
  if (config.NODE_IDENTITIES.length > 0) return ok(what)
  return warn(`${what}, but nodes get no identity, with which the kubelet would pull images`, [
    `set azure.nodeIdentities of the chart (NODE_IDENTITIES) to what this prints: az aks show --name ${config.CLUSTER_NAME} --resource-group GROUP-OF-THE-CLUSTER --query identityProfile.kubeletidentity.resourceId -o tsv`,
  ])
}

async function lacking({ arm }: DoctorContext, need: Need, signal: AbortSignal): Promise<Need> {
  const path = `${need.scope}/providers/Microsoft.Authorization/permissions?api-version=2022-04-01`
  const permissions = await arm.list<Permission>(path, signal)
  return { ...need, actions: need.actions.filter((action) => !isAllowed(permissions, action)) }
}

/** Whether one of the roles has the action and does not take it out again. */
export function isAllowed(permissions: readonly Permission[], action: string): boolean {
  return permissions.some(
    ({ actions = [], notActions = [] }) =>
      actions.some((pattern) => covers(pattern, action)) && !notActions.some((pattern) => covers(pattern, action)),
  )
}

/**
 * `*` stands for any text. Between slashes it may stand for nothing, as in Azure's own role Managed Identity Operator. Anybody may write a role, so all
 * ways to match are followed at once: an expression would try one after the other.
 */
function covers(pattern: string, action: string): boolean {
  const [wanted, text] = [pattern.toLowerCase(), action.toLowerCase()]
  let ends: ReadonlySet<number> = new Set([0])
  for (let at = 0; at < wanted.length && ends.size > 0; at++) {
    if (wanted[at] !== '*') {
      ends = new Set([...ends].filter((end) => text[end] === wanted[at]).map((end) => end + 1))
      continue
    }
    const first = Math.min(...ends)
    const any = Array.from({ length: text.length - first + 1 }, (_, further) => first + further)
    // Of `/*/` the second slash may be the first one.
    const isBetween = wanted[at - 1] === '/' && wanted[at + 1] === '/'
    ends = new Set([...any, ...(isBetween ? [...ends].map((end) => end - 1) : [])])
  }
  return ends.has(text.length)
}

/** A subnet's parts for commands of az. */
export function subnetArguments(id: string): string {
  const subnet = parseSubnet(id)
  return subnet === undefined
    ? `--ids ${id}`
    : `--resource-group ${subnet.resourceGroup} --vnet-name ${subnet.vnet} --name ${subnet.name}`
}
