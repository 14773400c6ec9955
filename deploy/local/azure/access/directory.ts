import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ArmDeps } from '../server/arm-deps.ts'
import { objectId } from './principals.ts'

/** Microsoft Graph, as far as the Azure CLI looks there for whom a role is assigned to: the configured identity, and those that were made, by client or object id. */
export function registerDirectory(app: FastifyInstance, { config, tokens, access }: ArmDeps): void {
  app.addHook('onRequest', async (request) => {
    if (request.url.startsWith('/v1.0/')) tokens.check(request.headers.authorization, `https://${request.host}`)
  })
  app.get('/v1.0/servicePrincipals', ({ query }: FastifyRequest<{ Querystring: Record<string, string> }>) => {
    const asked = / eq '([^']*)'/.exec(query['$filter'] ?? '')?.[1]
    return { value: principals().filter(({ appId }) => appId === asked) }
  })
  app.post('/v1.0/directoryObjects/getByIds', ({ body }: FastifyRequest<{ Body: { readonly ids?: string[] } }>) => ({
    value: principals().filter(({ id }) => body.ids?.includes(id)),
  }))

  const principals = () =>
    [{ name: 'configured', clientId: config.clientId, principalId: objectId }, ...access.identities.all].map(
      ({ name, clientId, principalId }) => ({
        '@odata.type': '#microsoft.graph.servicePrincipal',
        id: principalId,
        appId: clientId,
        displayName: name,
        servicePrincipalNames: [clientId],
      }),
    )
}
