import { createHash } from 'node:crypto'
import { type AzureRole, nodesRole, roleName, subscriptionRole } from '../../../api/rights/azure-roles.ts'
import { type ArmSession, type ArmWrite, versions } from '../../picture/arm-reader.ts'
import { type ClusterFacts, type IdentityPlace, identityPath } from './facts.ts'

/** What exists already, and what is wanted. */
export interface SetupInput {
  readonly facts: ClusterFacts
  readonly place: IdentityPlace
  /** The ServiceAccount of joiner-azure. */
  readonly account: { readonly namespace: string; readonly name: string }
  /** Definitions of Joiner's roles that exist, by title. */
  readonly roles: ReadonlyMap<string, RoleDefinition>
  /** Roles that the identity has. */
  readonly assignments: readonly RoleAssignment[]
}

/** One thing that Joiner's identity needs at Azure. */
export interface Step {
  readonly what: string
  readonly isThere: boolean
  /** Commands of the Azure CLI that make it, in order; `$PRINCIPAL_ID` stands for the identity. */
  readonly commands: readonly string[]
  /** Who may make it. */
  readonly allowedTo: string
  /** What makes it; undefined while something that it needs is missing. `principalId`: of the identity, once that is there. */
  readonly write: (principalId: string | undefined) => ArmWrite | undefined
}

/** The variable that stands for the identity in commands. */
const principal = '$PRINCIPAL_ID'

/** Returns all that Joiner's identity needs at Azure, in the order in which it can be made. */
export function setupSteps(input: SetupInput): readonly Step[] {
  const needed = neededAssignments(input.facts)
  return [
    identityStep(input),
    credentialStep(input),
    ...[nodesRole, subscriptionRole].map((role) => roleStep(role, needed, input)),
    ...needed.map((one) => assignmentStep(one, input)),
  ]
}

/** Returns the command that puts the identity into the variable that others use. */
export function principalCommand(place: IdentityPlace): string {
  return `PRINCIPAL_ID=$(az identity show ${identityArguments(place)} --query principalId --output tsv)`
}

/** Returns whether a command needs the identity. */
export function usesPrincipal({ commands }: Step): boolean {
  return commands.some((command) => command.includes(principal))
}

/** The oldest Azure CLI with which the printed commands were run. */
const commandsNeed = '2.45'

/**
 * Returns what is missing, in the order in which `--yes` makes it, as lines that a shell can run: comments say what each command makes and who may
 * run it.
 */
export function preview(missing: readonly Step[], place: IdentityPlace): readonly string[] {
  if (missing.length === 0) return ['# nothing is missing']
  const first = missing.findIndex(usesPrincipal)
  return [
    `# missing: ${missing.length}; nothing is made yet. --yes makes these, in this order, and changes nothing else; or run this, with Azure CLI ${commandsNeed} or newer`,
    ...missing.flatMap((step, at) => [
      ...(at === first ? [principalCommand(place)] : []),
      `# ${step.what}; needs ${step.allowedTo}`,
      ...step.commands,
    ]),
  ]
}

function identityArguments({ name, group, subscriptionId }: IdentityPlace): string {
  return `--name ${quoted(name)} --resource-group ${quoted(group)} --subscription ${subscriptionId}`
}

function identityStep({ facts, place }: SetupInput): Step {
  const { location } = facts.cluster
  const path = `${identityPath(place)}?api-version=${versions.identities}`
  return {
    what: `managed identity ${place.name} in resource group ${place.group}`,
    isThere: facts.identity !== undefined,
    commands: [`az identity create ${identityArguments(place)} --location ${location}`],
    allowedTo: `Managed Identity Contributor or Contributor of resource group ${place.group}`,
    write: () => ({ path, body: { location } }),
  }
}

const audience = 'api://AzureADTokenExchange'

function credentialStep({ facts, place, account }: SetupInput): Step {
  const { cluster, identity } = facts
  const issuer = cluster.properties.oidcIssuerProfile?.issuerUrl
  const subject = `system:serviceaccount:${account.namespace}:${account.name}`
  // Longer names are cut: Azure takes 120 characters.
  const name = `${cluster.name}-${account.namespace}-${account.name}`.slice(0, 120)
  const path = `${identityPath(place)}/federatedIdentityCredentials/${encodeURIComponent(name)}?api-version=${versions.identities}`
  const found = identity?.credentials.find((one) => one.issuer === issuer && one.subject === subject)
  return {
    what: `federated credential for ServiceAccount ${account.namespace}/${account.name}`,
    isThere: found !== undefined,
    commands: [
      `az identity federated-credential create --name ${quoted(name)} --identity-name ${quoted(place.name)} --resource-group ${quoted(place.group)} --subscription ${place.subscriptionId} --issuer ${issuer ? quoted(issuer) : `"$(az aks show --ids ${cluster.id} --query oidcIssuerProfile.issuerUrl --output tsv)"`} --subject ${quoted(subject)} --audiences ${audience}`,
    ],
    allowedTo: `Managed Identity Contributor or Contributor of resource group ${place.group}`,
    write: (principalId) =>
      principalId === undefined || !issuer
        ? undefined
        : { path, body: { properties: { issuer, subject, audiences: [audience] } } },
  }
}

function roleStep(role: AzureRole, needed: readonly NeededAssignment[], input: SetupInput): Step {
  const { subscriptionId } = input.facts
  const found = input.roles.get(role.title)
  const scopes = assignableScopes(needed.filter((one) => one.role === role))
  const isThere = found !== undefined && hasActions(found, role) && scopes.every((scope) => hasScope(found, scope))
  const all = [...scopes, ...(found?.assignableScopes ?? []).filter((scope) => !scopes.includes(scope.toLowerCase()))]
  const verb = found === undefined ? 'create' : 'update'
  return {
    what: `custom role "${roleName(role, subscriptionId)}" with ${Object.keys(role.actions).length} actions`,
    isThere,
    commands: [
      `az role definition ${verb} --subscription ${subscriptionId} --role-definition ${quoted(JSON.stringify(roleFile(role, subscriptionId, all)))}`,
    ],
    allowedTo: `Owner or User Access Administrator of ${all.join(' and ')}`,
    write: () => roleWrite(role, { subscriptionId, guid: roleGuid(role, input), scopes: all }),
  }
}

/** A role as the Azure CLI takes it. */
function roleFile(role: AzureRole, subscriptionId: string, scopes: readonly string[]) {
  return {
    Name: roleName(role, subscriptionId),
    IsCustom: true,
    Description: role.description,
    Actions: Object.keys(role.actions),
    NotActions: [],
    AssignableScopes: scopes,
  }
}

/** Subscriptions: each may hold a scope of its own, such as the network of a hub. */
function assignableScopes(needed: readonly NeededAssignment[]): readonly string[] {
  return [...new Set(needed.map(({ scope }) => scope.toLowerCase().split('/').slice(0, 3).join('/')))]
}

function hasActions({ actions }: RoleDefinition, role: AzureRole): boolean {
  const key = (texts: readonly string[]) =>
    texts
      .map((text) => text.toLowerCase())
      .toSorted()
      .join()
  return key(actions) === key(Object.keys(role.actions))
}

function hasScope(found: RoleDefinition, scope: string): boolean {
  return found.assignableScopes.some((one) => one.toLowerCase() === scope.toLowerCase())
}

function roleGuid(role: AzureRole, { facts, roles }: SetupInput): string {
  return roles.get(role.title)?.name ?? guidOf(`role:${roleName(role, facts.subscriptionId)}`)
}

function assignmentStep({ role, scope, what }: NeededAssignment, input: SetupInput): Step {
  const { subscriptionId } = input.facts
  const guid = roleGuid(role, input)
  return {
    what: `role "${role.title}" on ${what}`,
    isThere: input.assignments.some((one) => isFor(one, scope, guid)),
    commands: [
      `az role assignment create --assignee-object-id "${principal}" --assignee-principal-type ServicePrincipal --role ${quoted(roleName(role, subscriptionId))} --scope ${quoted(scope)}`,
    ],
    allowedTo: `Owner, User Access Administrator or Role Based Access Control Administrator of ${scope}`,
    write: (principalId) =>
      principalId === undefined ? undefined : assignmentWrite(scope, { subscriptionId, guid, principalId }),
  }
}

/** What was assigned at a scope above holds as well. */
function isFor({ scope: at, roleDefinitionId }: RoleAssignment, scope: string, guid: string): boolean {
  const [outer, inner] = [at.toLowerCase(), scope.toLowerCase()]
  const isAbove = inner === outer || inner.startsWith(`${outer}/`)
  return isAbove && roleDefinitionId.toLowerCase().endsWith(`/${guid.toLowerCase()}`)
}

/** An argument for a shell: names of Azure hold spaces and parentheses. */
function quoted(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

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
interface NeededAssignment {
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

interface RoleId {
  readonly subscriptionId: string
  readonly guid: string
}

/** A role definition as ARM takes it. */
function roleWrite(
  role: AzureRole,
  { subscriptionId, guid, scopes }: RoleId & { readonly scopes: readonly string[] },
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
function assignmentWrite(
  scope: string,
  { subscriptionId, guid, principalId }: RoleId & { readonly principalId: string },
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
