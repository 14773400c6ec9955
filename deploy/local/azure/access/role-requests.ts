import type { FastifyInstance } from 'fastify'
import type { ArmDeps } from '../server/arm-deps.ts'
import { type ArmRequest, page, pathOf } from '../server/arm-request.ts'
import { grantsAt, rightsOf, senderOf } from './principals.ts'
import { deleteAssignment, findAssignment, listAssignments, putAssignment } from './role-assignments.ts'
import { deleteDefinition, findDefinition, listDefinitions, putDefinition } from './role-definitions.ts'

/** What a request about roles is about. */
interface RoleRequest {
  /** The part of the path before the provider: a subscription, a group or a resource. */
  readonly scope: string
  readonly type: string
  /** Absent for lists. */
  readonly name: string | undefined
}

/** Microsoft.Authorization: role definitions, role assignments and the caller's permissions, at any scope. */
export function registerRoles(app: FastifyInstance, deps: ArmDeps): void {
  const { config } = deps
  app.get('/subscriptions/*', (request: ArmRequest, reply) => {
    const asked = readPath(request)
    switch (asked?.type) {
      case 'permissions':
        return page(request, config, permissionsAt(request, asked.scope, deps))
      case 'roledefinitions':
        return asked.name === undefined
          ? page(request, config, listDefinitions(asked.scope, request.query['$filter'], deps))
          : findDefinition(asked.name, deps)
      case 'roleassignments':
        return asked.name === undefined
          ? page(request, config, listAssignments(asked.scope, request.query['$filter'], deps))
          : findAssignment(asked.scope, asked.name, deps)
      default:
        return reply.callNotFound()
    }
  })
  app.put('/subscriptions/*', (request: ArmRequest, reply) => {
    const { scope, type, name } = readPath(request) ?? {}
    if (scope === undefined || name === undefined) return reply.callNotFound()
    if (type === 'roledefinitions') return reply.code(201).send(putDefinition(name, request.body, deps))
    if (type === 'roleassignments')
      return reply.code(201).send(putAssignment({ scope, name, body: request.body }, deps))
    return reply.callNotFound()
  })
  app.delete('/subscriptions/*', (request: ArmRequest, reply) => {
    const { scope, type, name } = readPath(request) ?? {}
    if (scope === undefined || name === undefined) return reply.callNotFound()
    if (type !== 'roledefinitions' && type !== 'roleassignments') return reply.callNotFound()
    const deleted = type === 'roledefinitions' ? deleteDefinition(name, deps) : deleteAssignment(scope, name, deps)
    return deleted === undefined ? reply.code(204).send() : reply.send(deleted)
  })
}

function readPath(request: ArmRequest): RoleRequest | undefined {
  const path = decodeURIComponent(pathOf(request))
  const [, scope, type, name] = /^(\/.*)\/providers\/Microsoft\.Authorization\/(\w+)(?:\/([^/]+))?$/i.exec(path) ?? []
  return scope === undefined || type === undefined ? undefined : { scope, type: type.toLowerCase(), name }
}

/** What the sender may do there. What is not checked anywhere counts as held anywhere. */
function permissionsAt(request: ArmRequest, scope: string, { config, access }: ArmDeps) {
  const rights = rightsOf(senderOf(request), config, access)
  const grants = rights.isStrict ? grantsAt(rights, scope) : rights.grants
  return grants.map(({ name, scope: at, actions, notActions }) => ({
    name: `${name} ${at}`,
    actions,
    notActions,
    dataActions: [],
    notDataActions: [],
  }))
}
