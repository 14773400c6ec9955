import type { FastifyInstance } from 'fastify'
import { list, strictRecord, text } from '../../../../api/shapes/shape.ts'
import { type HeldRole, type RoleName, roles } from '../access/roles.ts'
import type { ArmDeps } from '../server/arm-deps.ts'
import { isWrong } from './admin-settings.ts'
import { anyRole } from './settings-shape.ts'

interface PersonBody {
  readonly name: string
  readonly roles: readonly (RoleName | HeldRole)[]
}

const personShape = strictRecord({ name: text, roles: list(anyRole) }, ['name', 'roles'])

/** People who use ARM with a login of their own, what was assigned to whom, and which actions everybody took. */
export function registerAdminAccess(app: FastifyInstance, { config, access, tokens, calls, newId }: ArmDeps): void {
  app.get('/admin/calls/actions', () => calls.actions)
  app.get('/admin/access', () => ({
    identities: access.identities.all,
    federatedCredentials: access.federatedCredentials.all,
    roleDefinitions: access.roleDefinitions.all,
    roleAssignments: access.roleAssignments.all,
  }))
  app.delete('/admin/access', (_request, reply) => {
    for (const table of [access.identities, access.federatedCredentials, access.roleAssignments])
      for (const { id } of table.all) table.delete(id)
    for (const { name } of access.roleDefinitions.all) access.roleDefinitions.delete(name)
    return reply.code(204).send()
  })
  // Makes somebody, or gives them other roles; the answer holds a new token for ARM.
  app.post<{ Body: PersonBody }>('/admin/people', (request, reply) => {
    if (isWrong(request.body, personShape, reply)) return reply
    const { name } = request.body
    const scope = `/subscriptions/${config.subscriptionId}`
    const held = request.body.roles.map(
      (role): HeldRole => (typeof role === 'string' ? { name: role, scope, ...roles[role] } : role),
    )
    const { objectId } = access.people.get(name) ?? { objectId: newId() }
    access.people.put(name, { name, objectId, roles: held })
    const accessToken = tokens.issue('https://management.azure.com', { objectId, client: name })
    const expiresOn = Math.floor(Date.now() / 1000) + tokens.lifetimeSeconds
    return reply.send({ objectId, accessToken, expiresOn })
  })
}
