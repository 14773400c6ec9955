import type { FastifyRequest } from 'fastify'
import type { SimulatorConfig } from '../server/config.ts'
import type { AccessState } from './access-state.ts'
import { defaultRoles, type HeldRole, holds, type RoleRights, roles } from './roles.ts'

/** Object id of the configured identity, whose client id is in the configuration. */
export const objectId = '00000000-0000-4000-8000-000000000004'

/** Who a token is for. */
export interface Principal {
  readonly objectId: string
  /** As refusals name them: the client id of an identity, the name of a person. */
  readonly client: string
}

const senders = new WeakMap<FastifyRequest, Principal>()

/** Remembers whose token a request carries. */
export function setSender(request: FastifyRequest, principal: Principal): void {
  senders.set(request, principal)
}

/** Whose token a request carries. Errors: the request was not authenticated. */
export function senderOf(request: FastifyRequest): Principal {
  const sender = senders.get(request)
  if (sender === undefined) throw new Error(`${request.method} ${request.url} was not authenticated`)
  return sender
}

/** A role, where it is assigned. */
export interface Grant extends RoleRights {
  readonly name: string
  readonly scope: string
}

/** What somebody may do. */
export interface Rights {
  readonly grants: readonly Grant[]
  /** Whether all of Azure is checked. Otherwise only the node resource group is, and what lies elsewhere is allowed. */
  readonly isStrict: boolean
}

/**
 * Returns what a principal may do. The configured identity has the roles of the settings: built-in ones, which are checked in the node resource group alone,
 * or custom ones with their scopes. Everybody has what was assigned to them through ARM.
 */
export function rightsOf({ objectId: id }: Principal, config: SimulatorConfig, state: AccessState): Rights {
  const assigned = state.roleAssignments.all
    .filter(({ principalId }) => principalId.toLowerCase() === id.toLowerCase())
    .flatMap(({ scope, roleDefinitionId }) => grantOf(roleDefinitionId, scope, state) ?? [])
  if (id !== objectId) {
    const own = state.people.all.find((person) => person.objectId === id)?.roles ?? []
    return { grants: [...own.map(ownGrant), ...assigned], isStrict: true }
  }
  const group = `/subscriptions/${config.subscriptionId}/resourceGroups/${config.nodeResourceGroup}`
  const held = config.roles ?? defaultRoles
  const grants = held.map((role) =>
    typeof role === 'string' ? { name: role, scope: group, ...roles[role] } : ownGrant(role),
  )
  return { grants: [...grants, ...assigned], isStrict: held.some((role) => typeof role !== 'string') }
}

/** The grants that hold at a scope. */
export function grantsAt({ grants }: Rights, path: string): readonly Grant[] {
  return grants.filter(({ scope }) => holds(scope, path))
}

function ownGrant({ name, scope, actions, notActions = [] }: HeldRole): Grant {
  return { name, scope, actions, notActions }
}

function grantOf(roleDefinitionId: string, scope: string, state: AccessState): Grant | undefined {
  const guid = roleDefinitionId.slice(roleDefinitionId.lastIndexOf('/') + 1).toLowerCase()
  const custom = state.roleDefinitions.get(guid)
  if (custom !== undefined) {
    const { roleName: name, actions, notActions } = custom
    return { name, scope, actions, notActions }
  }
  const builtIn = Object.entries(roles).find(([, { id }]) => id === guid)
  return builtIn === undefined ? undefined : { ...builtIn[1], name: builtIn[0], scope }
}
