import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError } from '../server/arm-error.ts'
import type { AccessState, RoleAssignment } from './access-state.ts'
import { objectId } from './principals.ts'
import { findDefinition } from './role-definitions.ts'
import { holds } from './roles.ts'

type AssignmentBody =
  | {
      readonly properties?: {
        readonly roleDefinitionId?: string
        readonly principalId?: string
        readonly principalType?: string
      }
    }
  | undefined

type Deps = Pick<ArmDeps, 'config' | 'access'>

/** Returns assignments at, above and below a scope; `filter`: `atScope()` leaves out those below, `principalId eq '...'` those of others. */
export function listAssignments(scope: string, filter = '', { access }: Deps): readonly Record<string, unknown>[] {
  const principal = /principalId eq '([^']*)'/i.exec(filter)?.[1]?.toLowerCase()
  const isAtScope = /\batScope\(\)/i.test(filter)
  return access.roleAssignments.all
    .filter((one) => holds(one.scope, scope) || (!isAtScope && holds(scope, one.scope)))
    .filter(({ principalId }) => principal === undefined || principalId.toLowerCase() === principal)
    .map(show)
}

/** Errors: 404 RoleAssignmentNotFound. */
export function findAssignment(scope: string, name: string, { access }: Deps): Record<string, unknown> {
  const found = access.roleAssignments.get(idOf(scope, name))
  if (found === undefined)
    throw new ArmError(404, 'RoleAssignmentNotFound', `The role assignment '${name}' is not found.`)
  return show(found)
}

/**
 * Assigns a role. The same request again changes nothing. Errors: 400 for an unknown role or principal, and for a name that stands for another assignment;
 * 409 where the assignment exists by another name.
 */
export function putAssignment(
  { scope, name, body }: { readonly scope: string; readonly name: string; readonly body: unknown },
  deps: Deps,
): Record<string, unknown> {
  const { access } = deps
  const { roleDefinitionId = '', principalId = '', principalType } = (body as AssignmentBody)?.properties ?? {}
  findDefinition(roleDefinitionId.slice(roleDefinitionId.lastIndexOf('/') + 1), deps)
  // Whoever says the type is not looked up: a new identity is not known everywhere at once.
  if (principalType === undefined && !isKnown(principalId, access))
    throw new ArmError(
      400,
      'PrincipalNotFound',
      `Principal ${principalId} does not exist in the directory. Check that you have the correct principal ID. If you are creating this principal and then immediately assigning a role, this error might be related to a replication delay. In this case, set the role assignment principalType property to a value, such as ServicePrincipal, User, or Group.`,
    )
  const id = idOf(scope, name)
  const wanted: RoleAssignment = {
    id,
    name,
    scope,
    roleDefinitionId,
    principalId,
    principalType: principalType ?? 'ServicePrincipal',
  }
  const before = access.roleAssignments.get(id)
  if (before !== undefined && !isSame(before, wanted))
    throw new ArmError(
      400,
      'RoleAssignmentUpdateNotPermitted',
      'Tenant ID, application ID, principal ID, and scope are not allowed to be updated.',
    )
  const twin = access.roleAssignments.all.find((other) => other.id !== before?.id && isSame(other, wanted))
  if (twin !== undefined)
    throw new ArmError(
      409,
      'RoleAssignmentExists',
      `The role assignment already exists. The ID of the existing role assignment is ${twin.name.replaceAll('-', '')}.`,
    )
  access.roleAssignments.put(id, wanted)
  return show(wanted)
}

/** Takes a role away. Returns the assignment; undefined where there was none. */
export function deleteAssignment(scope: string, name: string, { access }: Deps): Record<string, unknown> | undefined {
  const id = idOf(scope, name)
  const found = access.roleAssignments.get(id)
  access.roleAssignments.delete(id)
  return found && show(found)
}

function isSame(one: RoleAssignment, other: RoleAssignment): boolean {
  const key = ({ scope, roleDefinitionId, principalId }: RoleAssignment) =>
    `${scope} ${roleDefinitionId.slice(roleDefinitionId.lastIndexOf('/') + 1)} ${principalId}`.toLowerCase()
  return key(one) === key(other)
}

function isKnown(principalId: string, { identities, people }: AccessState): boolean {
  const known = [
    objectId,
    ...identities.all.map((identity) => identity.principalId),
    ...people.all.map((person) => person.objectId),
  ]
  return known.includes(principalId)
}

const idOf = (scope: string, name: string) => `${scope}/providers/Microsoft.Authorization/roleAssignments/${name}`

function show({ id, name, ...properties }: RoleAssignment): Record<string, unknown> {
  return { id, name, type: 'Microsoft.Authorization/roleAssignments', properties }
}
