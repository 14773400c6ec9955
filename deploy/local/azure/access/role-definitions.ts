import type { ArmDeps } from '../server/arm-deps.ts'
import { ArmError } from '../server/arm-error.ts'
import type { RoleDefinition } from './access-state.ts'
import { holds, roles } from './roles.ts'

type DefinitionBody =
  | {
      readonly properties?: {
        readonly roleName?: string
        readonly description?: string
        readonly permissions?: readonly {
          readonly actions?: readonly string[]
          readonly notActions?: readonly string[]
        }[]
        readonly assignableScopes?: readonly string[]
      }
    }
  | undefined

type Deps = Pick<ArmDeps, 'config' | 'access'>

/** Returns the roles that can be assigned at a scope: built-in ones and custom ones. `filter`: `roleName eq '...'` or `type eq 'CustomRole'`. */
export function listDefinitions(
  scope: string,
  filter: string | undefined,
  { config, access }: Deps,
): readonly Record<string, unknown>[] {
  const custom = access.roleDefinitions.all
    .filter(({ assignableScopes }) => assignableScopes.some((outer) => holds(outer, scope)))
    .map((definition) => showCustom(definition, config.subscriptionId))
  const builtIn = Object.keys(roles).map((name) => showBuiltIn(name as keyof typeof roles, config.subscriptionId))
  const [, field, value] = /^(roleName|type) eq '(.*)'$/.exec(filter ?? '') ?? []
  return [...builtIn, ...custom].filter(
    ({ properties }) => field === undefined || properties[field as 'roleName' | 'type'] === value,
  )
}

/** Errors: 404 RoleDefinitionDoesNotExist. */
export function findDefinition(name: string, { config, access }: Deps): Record<string, unknown> {
  const custom = access.roleDefinitions.get(name)
  if (custom !== undefined) return showCustom(custom, config.subscriptionId)
  const builtIn = Object.entries(roles).find(([, { id }]) => id === name.toLowerCase())
  if (builtIn === undefined)
    throw new ArmError(
      404,
      'RoleDefinitionDoesNotExist',
      `The specified role definition with ID '${name}' does not exist.`,
    )
  return showBuiltIn(builtIn[0] as keyof typeof roles, config.subscriptionId)
}

/** Creates or replaces a custom role. Errors: 400 for a body or an action that Azure does not take, 409 for a name that another role has. */
export function putDefinition(name: string, body: unknown, { config, access }: Deps): Record<string, unknown> {
  const {
    roleName = '',
    description = '',
    permissions = [],
    assignableScopes = [],
  } = (body as DefinitionBody)?.properties ?? {}
  if (roleName === '' || assignableScopes.length === 0)
    throw new ArmError(400, 'RoleDefinitionInvalid', 'A custom role needs a roleName and assignableScopes.')
  const [{ actions = [], notActions = [] } = {}] = permissions
  const unknown = [...actions, ...notActions].find((action) => !isAction(action))
  if (unknown !== undefined)
    throw new ArmError(
      400,
      'InvalidActionOrNotAction',
      `'${unknown}' does not match any of the actions supported by the providers.`,
    )
  const twin = access.roleDefinitions.all.find((other) => other.roleName === roleName && other.name !== name)
  if (twin !== undefined || roleName in roles)
    throw new ArmError(
      409,
      'RoleDefinitionWithSameNameExists',
      'A custom role with the same name already exists in this directory. Use a different name.',
    )
  const definition: RoleDefinition = { name, roleName, description, actions, notActions, assignableScopes }
  access.roleDefinitions.put(name, definition)
  return showCustom(definition, config.subscriptionId)
}

/** Deletes a custom role. Returns it; undefined where there was none. Errors: 400 while it is assigned. */
export function deleteDefinition(name: string, { config, access }: Deps): Record<string, unknown> | undefined {
  const found = access.roleDefinitions.get(name)
  if (found === undefined) return undefined
  const end = `/${name}`.toLowerCase()
  if (access.roleAssignments.all.some(({ roleDefinitionId }) => roleDefinitionId.toLowerCase().endsWith(end)))
    throw new ArmError(
      400,
      'RoleDefinitionHasAssignments',
      'There are existing role assignments referencing role (code: RoleDefinitionHasAssignments).',
    )
  access.roleDefinitions.delete(name)
  return showCustom(found, config.subscriptionId)
}

/** Azure knows the actions of all providers; here an action is what looks like one. */
const isAction = (text: string) =>
  /^(\*|Microsoft\.\w+(\/[\w*]+)*)\/(\*|read|write|delete|action)$/i.test(text) || text === '*'

function showCustom(
  { name, roleName, description, actions, notActions, assignableScopes }: RoleDefinition,
  subscriptionId: string,
) {
  return show(name, subscriptionId, {
    roleName,
    type: 'CustomRole',
    description,
    assignableScopes,
    permissions: [{ actions, notActions, dataActions: [], notDataActions: [] }],
  })
}

function showBuiltIn(roleName: keyof typeof roles, subscriptionId: string) {
  const { id, actions, notActions } = roles[roleName]
  return show(id, subscriptionId, {
    roleName,
    type: 'BuiltInRole',
    description: roleName,
    assignableScopes: ['/'],
    permissions: [{ actions, notActions, dataActions: [], notDataActions: [] }],
  })
}

function show<T extends { readonly roleName: string; readonly type: string }>(
  name: string,
  subscriptionId: string,
  properties: T,
) {
  return {
    id: `/subscriptions/${subscriptionId}/providers/Microsoft.Authorization/roleDefinitions/${name}`,
    name,
    type: 'Microsoft.Authorization/roleDefinitions',
    properties,
  }
}
