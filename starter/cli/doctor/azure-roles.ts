import { clusterPath } from '../../../activities/azure/machines/machines-api.ts'
import { distinctGroups, mostGroupsRead, namedGroups } from '../../../activities/azure/reservations/group-id.ts'
import { managesMachines } from '../../../api/config.ts'
import { type AzureRole, machinesRole, reservationsRole, roleName } from '../../../api/rights/azure-roles.ts'
import { present } from '../../document/words.ts'
import { ArmRefusal } from '../../picture/arm-reader.ts'
import { whyOf } from '../../picture/missing.ts'
import { type DoctorContext, type Finding, fail, groupId, ok, roleAssignment, warn } from './check.ts'

interface Need {
  readonly scope: string
  readonly role: string
  readonly actions: readonly string[]
}

/** A need, with those of its actions that are not allowed. */
interface Lack extends Need {
  /** Why Azure could not be asked. */
  readonly unasked?: string
}

/** What Joiner does at Azure with any cluster, by where it does it and the built-in role that allows it (reference/azure-provider.md 9.4). */
function builtInNeeds({ config, cloud }: DoctorContext): readonly Need[] {
  const group = groupId(config)
  return [
    {
      scope: group,
      role: 'Virtual Machine Contributor',
      actions: present(
        'Microsoft.Compute/virtualMachines/read',
        'Microsoft.Compute/virtualMachines/write',
        'Microsoft.Compute/virtualMachines/delete',
        'Microsoft.Compute/disks/delete',
        config.JOINER_BILLING_EXTENSION && cloud.isKnown && 'Microsoft.Compute/virtualMachines/extensions/write',
      ),
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

/** What Joiner does with AKS machines, where it manages any. */
function machineNeeds({ config }: DoctorContext): readonly Need[] {
  if (!managesMachines(config)) return []
  const scope = clusterPath({
    subscriptionId: config.ARM_SUBSCRIPTION_ID,
    clusterResourceGroup: config.ARM_RESOURCE_GROUP,
    clusterName: config.CLUSTER_NAME,
  })
  const isMaking = config.PROVISION_MODE !== 'aksscriptless'
  const actions = actionsOf(machinesRole).filter((action) => isMaking || !action.endsWith('/machines/write'))
  return [{ scope, role: roleName(machinesRole, config.ARM_SUBSCRIPTION_ID), actions }]
}

/**
 * What Joiner does with the capacity reservation groups that AKSNodeClasses name, of which it reads so many. AKS machines use none. What cannot be read
 * of Kubernetes is reported by another check.
 */
async function reservationNeeds({ config, pools }: DoctorContext): Promise<readonly Need[]> {
  if (!config.FEATURE_GATES.ReservedCapacity || config.PROVISION_MODE !== 'aksscriptless') return []
  const { nodeClasses } = await pools().catch(() => ({ nodeClasses: [] }))
  const subscriptionId = config.ARM_SUBSCRIPTION_ID
  const groups = distinctGroups(nodeClasses.flatMap((nodeClass) => namedGroups(nodeClass, { subscriptionId }).groups))
  const role = roleName(reservationsRole, subscriptionId)
  const actions = actionsOf(reservationsRole)
  return groups.slice(0, mostGroupsRead).map(({ id: scope }) => ({ scope, role, actions }))
}

const actionsOf = ({ actions }: AzureRole) => Object.keys(actions)

interface Permission {
  readonly actions?: readonly string[]
  readonly notActions?: readonly string[]
}

/** Whether Azure's roles allow every write that Joiner does, asked of ARM and without doing any. */
export async function examineActions(context: DoctorContext, signal: AbortSignal): Promise<Finding> {
  const needs = [...builtInNeeds(context), ...machineNeeds(context)]
  const groups = await reservationNeeds(context)
  const found = await Promise.all([
    ...needs.map((need) => lacking(context, need, signal)),
    ...groups.map((need) => lackingOfGroup(context, need, signal)),
  ])
  const missing = found.filter(({ actions }) => actions.length > 0)
  const unasked = found.flatMap(({ scope, unasked: why }) => (why === undefined ? [] : [`${scope}: ${why}`]))
  if (missing.length > 0)
    return fail(
      `${missing.reduce((sum, { actions }) => sum + actions.length, 0)} actions are not allowed`,
      [...new Set(await Promise.all(missing.map(({ role, scope }) => roleAssignment(context, role, scope))))],
      [...missing.flatMap(({ scope, actions }) => actions.map((action) => `${action} on ${scope}`)), ...unasked],
    )
  if (unasked.length > 0)
    return warn(
      `Azure did not say what is allowed on ${unasked.length} capacity reservation groups`,
      ['run joiner doctor again later; kubectl describe aksnodeclass says whether Joiner can read them'],
      unasked,
    )
  return withIdentities(context)
}

function withIdentities({ config }: DoctorContext): Finding {
  const what = "VMs, NICs, disks, the subnet and the nodes' identities may be used"
  if (config.NODE_IDENTITIES.length > 0) return ok(what)
  return warn(`${what}, but nodes get no identity, with which the kubelet would pull images`, [
    `set azure.nodeIdentities of the chart (NODE_IDENTITIES) to what this prints: az aks show --name ${config.CLUSTER_NAME} --resource-group GROUP-OF-THE-CLUSTER --query identityProfile.kubeletidentity.resourceId -o tsv`,
  ])
}

/** Returns the actions of a need that are not allowed. Where the identity has no role it may not even ask. */
async function lacking({ arm }: DoctorContext, need: Need, signal: AbortSignal): Promise<Lack> {
  const path = `${need.scope}/providers/Microsoft.Authorization/permissions?api-version=2022-04-01`
  let permissions: readonly Permission[]
  try {
    permissions = await arm.list<Permission>(path, signal)
  } catch (error) {
    if (error instanceof ArmRefusal && error.status === 403) return need
    throw error
  }
  return { ...need, actions: need.actions.filter((action) => !isAllowed(permissions, action)) }
}

/** As `lacking`. A group that does not exist is reported by its AKSNodeClass; whatever else Azure answers must not hide the other needs. */
async function lackingOfGroup(context: DoctorContext, need: Need, signal: AbortSignal): Promise<Lack> {
  try {
    return await lacking(context, need, signal)
  } catch (error) {
    const isGone = error instanceof ArmRefusal && error.status === 404
    return { ...need, actions: [], ...(isGone ? {} : { unasked: whyOf(error) }) }
  }
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
