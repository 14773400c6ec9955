import type { FastifyInstance } from 'fastify'
import { actionOf, refusalOf } from '../admin/refusal-words.ts'
import type { ArmDeps } from './arm-deps.ts'
import { type ArmRequest, page, pathOf } from './arm-request.ts'
import type { SimulatorConfig } from './config.ts'
import { defaultRoles, roles } from './roles.ts'

/**
 * Refuses what the identity's roles do not allow in the node resource group, as ARM does. What lies elsewhere (sizes, quotas, galleries, a network of the
 * user's own) is not checked, nor are linked actions such as joining a subnet: faults of status 403 refuse those.
 */
export function authorize(request: ArmRequest, config: SimulatorConfig): void {
  const group = /^\/subscriptions\/[^/]+\/resourceGroups\/([^/?]+)\/providers\//i.exec(request.url)?.[1]
  if (group?.toLowerCase() !== config.nodeResourceGroup.toLowerCase()) return
  const refused = { method: request.method, path: pathOf(request), attempt: undefined }
  const action = actionOf(refused)
  const allowed = (config.roles ?? defaultRoles).flatMap((name) => roles[name] as readonly string[])
  if (allowed.some((pattern) => covers(pattern, action))) return
  throw refusalOf({ code: 'AuthorizationFailed' }, refused, config)
}

/** Whether a role's action, which may hold `*`, covers an action. Case does not matter. */
function covers(pattern: string, action: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[^\w]/g, (char) => `\\${char}`))
  return new RegExp(`^${parts.join('.*')}$`, 'i').test(action)
}

/** What the identity may do, as the permissions API says it at any scope. */
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
