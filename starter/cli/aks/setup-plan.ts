import type { AzureRole } from '../../../api/rights/azure-roles.ts'
import { nodesRole, roleName, subscriptionRole } from '../../../api/rights/azure-roles.ts'
import { type ArmWrite, versions } from '../../picture/arm-reader.ts'
import type { ClusterFacts } from './facts.ts'
import { type IdentityPlace, identityPath } from './facts.ts'
import {
  assignmentWrite,
  guidOf,
  type NeededAssignment,
  neededAssignments,
  type RoleAssignment,
  type RoleDefinition,
  roleWrite,
} from './roles.ts'

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
