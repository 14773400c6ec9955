import { createHash } from 'node:crypto'
import type { AzureRole } from '../../../api/rights/azure-roles.ts'
import { nodesRole, roleName, subscriptionRole } from '../../../api/rights/azure-roles.ts'
import { type ArmSession, type ArmWrite, versions } from '../../picture/arm-reader.ts'
import type { ClusterFacts } from './facts.ts'

/** A role definition as ARM shows it, as far as it is read. */
export interface RoleDefinition {
  /** A GUID. */
  readonly name: string
  readonly actions: readonly string[]
  readonly assignableScopes: readonly string[]
}

export interface RoleAssignment {
  readonly scope: string
  readonly roleDefinitionId: string
}

/** A role that the identity needs, where. */
export interface NeededAssignment {
  readonly role: AzureRole
  readonly scope: string
  readonly what: string
}

interface DefinitionJson {
  readonly name: string
  readonly properties: {
    readonly roleName?: string
    readonly permissions?: readonly { readonly actions?: readonly string[] }[]
    readonly assignableScopes?: readonly string[]
  }
}

/** Returns a GUID that follows from a text (RFC 9562, version 5 by its form), so that the same request again names the same resource. */
export function guidOf(text: string): string {
  const bytes = createHash('sha1').update(`joiner:${text.toLowerCase()}`).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** Returns the roles that Joiner's identity needs: on the node resource group, on what of the cluster lies elsewhere, and on the subscription. */
export function neededAssignments({ subscriptionId, cluster, network }: ClusterFacts): readonly NeededAssignment[] {
  const { nodeResourceGroup = '', identityProfile, diskEncryptionSetID } = cluster.properties
  const group = `/subscriptions/${subscriptionId}/resourceGroups/${nodeResourceGroup}`
  const vnet = network.kind === 'found' ? network.value.subnetId.replace(/\/subnets\/[^/]+$/i, '') : undefined
  const elsewhere = [
    { scope: vnet, what: 'the virtual network of the nodes' },
    { scope: identityProfile?.kubeletidentity?.resourceId, what: 'the identity of the kubelet' },
    { scope: diskEncryptionSetID, what: 'the disk encryption set' },
  ].flatMap(({ scope, what }) =>
    scope === undefined || scope.toLowerCase().startsWith(`${group.toLowerCase()}/`)
      ? []
      : [{ role: nodesRole, scope, what }],
  )
  return [
    { role: nodesRole, scope: group, what: 'the node resource group' },
    ...elsewhere,
    { role: subscriptionRole, scope: `/subscriptions/${subscriptionId}`, what: 'the subscription' },
  ]
}

/** Reads one of Joiner's custom roles by its name; undefined where there is none. Errors: ArmRefusal. */
export async function readRole(
  arm: ArmSession,
  { role, subscriptionId }: { readonly role: AzureRole; readonly subscriptionId: string },
  signal: AbortSignal,
): Promise<RoleDefinition | undefined> {
  const filter = encodeURIComponent(`roleName eq '${roleName(role, subscriptionId)}'`)
  const path = `/subscriptions/${subscriptionId}/providers/Microsoft.Authorization/roleDefinitions?api-version=${versions.roles}&$filter=${filter}`
  const [found] = await arm.list<DefinitionJson>(path, signal)
  if (found === undefined) return undefined
  const { permissions = [], assignableScopes = [] } = found.properties
  return { name: found.name, actions: permissions.flatMap(({ actions = [] }) => actions), assignableScopes }
}

/** Reads the roles that an identity has in subscriptions. Errors: ArmRefusal. */
export async function readAssignments(
  arm: ArmSession,
  { principalId, subscriptions }: { readonly principalId: string; readonly subscriptions: readonly string[] },
  signal: AbortSignal,
): Promise<readonly RoleAssignment[]> {
  const filter = encodeURIComponent(`principalId eq '${principalId}'`)
  const found = await Promise.all(
    subscriptions.map((subscription) =>
      arm.list<{ readonly properties: RoleAssignment }>(
        `/subscriptions/${subscription}/providers/Microsoft.Authorization/roleAssignments?api-version=${versions.roles}&$filter=${filter}`,
        signal,
      ),
    ),
  )
  return found.flat().map(({ properties }) => properties)
}

/** A role definition as ARM takes it. */
export function roleWrite(
  role: AzureRole,
  {
    subscriptionId,
    guid,
    scopes,
  }: { readonly subscriptionId: string; readonly guid: string; readonly scopes: readonly string[] },
): ArmWrite {
  return {
    path: `/subscriptions/${subscriptionId}/providers/Microsoft.Authorization/roleDefinitions/${guid}?api-version=${versions.roles}`,
    body: {
      properties: {
        roleName: roleName(role, subscriptionId),
        description: role.description,
        type: 'CustomRole',
        permissions: [{ actions: Object.keys(role.actions), notActions: [], dataActions: [], notDataActions: [] }],
        assignableScopes: scopes,
      },
    },
  }
}

/** A role assignment as ARM takes it. The type of the principal spares Azure to look it up: a new identity is not known everywhere at once. */
export function assignmentWrite(
  scope: string,
  {
    subscriptionId,
    guid,
    principalId,
  }: { readonly subscriptionId: string; readonly guid: string; readonly principalId: string },
): ArmWrite {
  const name = guidOf(`${scope}:${guid}:${principalId}`)
  return {
    path: `${scope}/providers/Microsoft.Authorization/roleAssignments/${name}?api-version=${versions.roles}`,
    body: {
      properties: {
        roleDefinitionId: `/subscriptions/${subscriptionId}/providers/Microsoft.Authorization/roleDefinitions/${guid}`,
        principalId,
        principalType: 'ServicePrincipal',
      },
    },
  }
}
