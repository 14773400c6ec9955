import type { FastifyRequest } from 'fastify'
import { entryOf } from '../../../../core/values/records.ts'
import { actionOf, refusalOf } from '../admin/refusal-words.ts'
import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError } from '../server/arm-error.ts'
import { type ArmRequest, pathOf } from '../server/arm-request.ts'
import { grantsAt, rightsOf, senderOf } from './principals.ts'
import { allows } from './roles.ts'

type AuthorizationDeps = Pick<ArmDeps, 'config' | 'access' | 'calls'>

/**
 * Refuses what the roles of the sender do not allow, as ARM does. For the configured identity with built-in roles, only the node resource group is
 * checked: what lies elsewhere (sizes, quotas, galleries, a network of the user's own) is not, nor are linked actions, which faults of status 403 refuse.
 */
export function authorize(request: ArmRequest, { config, access, calls }: AuthorizationDeps): void {
  const path = decodeURIComponent(pathOf(request))
  if (!/^\/subscriptions\/[^/]+\//i.test(path)) return
  const sender = senderOf(request)
  const refused = { method: request.method, path, attempt: undefined }
  const action = actionOf(refused)
  calls.addAction(sender.objectId, action)
  const rights = rightsOf(sender, config, access)
  if (!rights.isStrict && !isInNodeGroup(path, config.nodeResourceGroup)) return
  if (grantsAt(rights, path).some((grant) => allows(grant, action))) return
  throw refusalOf({ code: 'AuthorizationFailed' }, refused, { ...config, ...named(sender) })
}

/** Refuses a VM that refers to what its sender may not use: its subnet, security groups, backend pools, identities and disk encryption set. */
export function authorizeLinked(request: FastifyRequest, { config, access, calls }: AuthorizationDeps): void {
  const linked = linkedActions(request)
  if (linked.length === 0) return
  const sender = senderOf(request)
  for (const { action } of linked) calls.addAction(sender.objectId, action)
  const rights = rightsOf(sender, config, access)
  if (!rights.isStrict) return
  const missing = linked.filter(({ action, id }) => !grantsAt(rights, id).some((grant) => allows(grant, action)))
  if (missing.length === 0) return
  const path = pathOf(request)
  const list = (texts: readonly string[]) => `'${texts.join(',')}'`
  throw new ArmError(
    403,
    'LinkedAuthorizationFailed',
    `The client '${sender.client}' with object id '${sender.objectId}' has permission to perform action '${actionOf({ method: request.method, path, attempt: undefined })}' on scope '${path}'; however, it does not have permission to perform action(s) ${list(missing.map(({ action }) => action))} on the linked scope(s) ${list(missing.map(({ id }) => id))} (respectively) or the linked scope(s) are invalid.`,
  )
}

function named({ client, objectId }: ReturnType<typeof senderOf>) {
  return { clientId: client, objectId }
}

function isInNodeGroup(path: string, nodeResourceGroup: string): boolean {
  const group = /^\/subscriptions\/[^/]+\/resourceGroups\/([^/?]+)\/providers\//i.exec(path)?.[1]
  return group?.toLowerCase() === nodeResourceGroup.toLowerCase()
}

/** What a request does to another resource than the one in its path. */
interface LinkedAction {
  readonly action: string
  /** Id of the other resource. */
  readonly id: string
}

/** What it takes to refer to a resource of a type. A subnet and a backend pool are below another resource. */
const actionsByType: Readonly<Record<string, string>> = {
  subnets: 'Microsoft.Network/virtualNetworks/subnets/join/action',
  networksecuritygroups: 'Microsoft.Network/networkSecurityGroups/join/action',
  backendaddresspools: 'Microsoft.Network/loadBalancers/backendAddressPools/join/action',
  userassignedidentities: 'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action',
  capacityreservationgroups: 'Microsoft.Compute/capacityReservationGroups/deploy/action',
  diskencryptionsets: 'Microsoft.Compute/diskEncryptionSets/read',
}

/** Returns the actions on other resources that a PUT or PATCH of a VM takes, by the ids in its body. */
function linkedActions({ method, url, body }: FastifyRequest): readonly LinkedAction[] {
  if (!['PUT', 'PATCH'].includes(method) || !/\/virtualMachines\/[^/?]+(\?|$)/i.test(url)) return []
  const ids = new Set<string>()
  collect(body, ids)
  return [...ids].flatMap((id) => {
    const type = id.split('/').at(-2) ?? ''
    const action = entryOf(actionsByType, type.toLowerCase())
    return action === undefined ? [] : [{ action, id }]
  })
}

/** Ids are values, and keys where identities are named. */
function collect(value: unknown, ids: Set<string>): void {
  if (typeof value === 'string') {
    if (value.startsWith('/subscriptions/')) ids.add(value)
  } else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) {
      collect(key, ids)
      collect(inner, ids)
    }
}
