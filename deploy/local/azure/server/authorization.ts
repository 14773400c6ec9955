import type { FastifyInstance } from 'fastify'
import type { ArmDeps } from './arm-deps.ts'
import { type ArmRequest, page } from './arm-request.ts'
import { defaultRoles, roles } from './roles.ts'

/** What the identity may do, at any scope. The simulator tells it and does not enforce it: faults of status 403 do that. */
export function registerAuthorization(app: FastifyInstance, { config }: ArmDeps): void {
  app.get('/subscriptions/*', (request: ArmRequest, reply) => {
    const path = (request.url.split('?')[0] ?? '').toLowerCase()
    if (!path.endsWith('/providers/microsoft.authorization/permissions')) return reply.callNotFound()
    const held = (config.roles ?? defaultRoles).map((name) => ({
      name,
      actions: roles[name],
      notActions: [],
      dataActions: [],
      notDataActions: [],
    }))
    return page(request, config, held)
  })
}
