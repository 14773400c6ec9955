import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AccessState, FederatedCredential } from '../access/access-state.ts'
import type { Principal } from '../access/principals.ts'
import { type AccessTokens, resourceOf } from './access-tokens.ts'
import type { ArmDeps } from './arm-deps.ts'
import type { SimulatorConfig } from './config.ts'

const federatedAudience = 'api://AzureADTokenExchange'

/** Entra's token endpoint, which takes a projected ServiceAccount token or a secret, and the endpoints of managed identities. */
export function registerIdentity(app: FastifyInstance, { config, tokens, access, newId }: ArmDeps): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  )
  app.get<{ Params: { tenant: string } }>('/:tenant/v2.0/.well-known/openid-configuration', (request) => {
    const base = `https://${request.host}/${request.params.tenant}`
    return {
      issuer: `${base}/v2.0`,
      authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
      token_endpoint: `${base}/oauth2/v2.0/token`,
      jwks_uri: `${base}/discovery/v2.0/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['pairwise'],
      id_token_signing_alg_values_supported: ['RS256'],
    }
  })
  app.post<{ Params: { tenant: string }; Body: Record<string, string> }>(
    '/:tenant/oauth2/v2.0/token',
    (request, reply) => {
      const problem = problemOf(request.params.tenant, request.body, { config, access })
      if (problem !== undefined) {
        return reply.code(401).send({
          error: 'invalid_client',
          error_description: problem,
          error_codes: [Number(/^AADSTS(\d+)/.exec(problem)?.[1])],
          correlation_id: newId(),
        })
      }
      return {
        token_type: 'Bearer',
        expires_in: tokens.lifetimeSeconds,
        ext_expires_in: tokens.lifetimeSeconds,
        access_token: tokens.issue(request.body['scope'] ?? '', principalOf(request.body, access)),
      }
    },
  )
  registerManagedIdentity(app, config, tokens)
}

/** The identity that was made through ARM; undefined: the configured one. */
function principalOf(body: Readonly<Record<string, string>>, access: AccessState): Principal | undefined {
  const identity = access.identityOfClient(body['client_id'] ?? '')
  return identity === undefined ? undefined : { objectId: identity.principalId, client: identity.clientId }
}

type ManagedRequest = FastifyRequest<{ Querystring: Record<string, string> }>

/**
 * The two places where a managed identity asks for tokens: the instance metadata service of a VM, and the endpoint that IDENTITY_ENDPOINT
 * names (https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token).
 */
function registerManagedIdentity(app: FastifyInstance, config: SimulatorConfig, tokens: AccessTokens): void {
  const answer = ({ query }: ManagedRequest, reply: FastifyReply) => {
    const { resource = '', client_id: clientId = config.clientId } = query
    if (resource === '') return refuse(reply, 'the query parameter resource is missing')
    if (clientId !== config.clientId) return refuse(reply, 'Identity not found')
    const end = Math.floor(Date.now() / 1000) + tokens.lifetimeSeconds
    return reply.send({
      access_token: tokens.issue(resource),
      client_id: clientId,
      expires_in: String(tokens.lifetimeSeconds),
      expires_on: String(end),
      resource: resourceOf(resource),
      token_type: 'Bearer',
    })
  }
  app.get('/metadata/identity/oauth2/token', (request: ManagedRequest, reply) =>
    request.headers['metadata'] === 'true'
      ? answer(request, reply)
      : refuse(reply, "the header Metadata is missing; set it to 'true'"),
  )
  app.get('/msi/token', (request: ManagedRequest, reply) =>
    request.headers['x-identity-header'] === (config.identityHeader ?? 'simulated-header')
      ? answer(request, reply)
      : reply
          .code(401)
          .send({ statusCode: 401, message: 'the header X-IDENTITY-HEADER is not what IDENTITY_HEADER says' }),
  )
}

function refuse(reply: FastifyReply, description: string): FastifyReply {
  return reply.code(400).send({ error: 'invalid_request', error_description: description })
}

/** What Entra would say against a request for a token, with its code; undefined: nothing. */
function problemOf(
  tenant: string,
  body: Readonly<Record<string, string>>,
  { config, access }: { readonly config: SimulatorConfig; readonly access: AccessState },
): string | undefined {
  if (tenant !== config.tenantId) return `AADSTS90002: Tenant '${tenant}' not found`
  const clientId = body['client_id'] ?? ''
  const made = access.identityOfClient(clientId)
  if (made !== undefined) return trustProblem(body['client_assertion'] ?? '', access.credentialsOf(made))
  if (clientId !== config.clientId)
    return `AADSTS700016: Application with identifier '${clientId}' was not found in the directory`
  if (body['client_secret'] === undefined) return assertionProblem(body['client_assertion'] ?? '', config)
  if (body['client_secret'] === (config.clientSecret ?? 'simulated-secret')) return undefined
  return `AADSTS7000215: Invalid client secret provided for app '${clientId}'`
}

interface Claims {
  readonly aud?: string | string[]
  readonly exp?: number
  readonly iss?: string
  readonly sub?: string
}

function claimsOf(assertion: string): Claims {
  return JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString()) as Claims
}

/** What Entra says of a token that none of an identity's federated credentials is for. */
function trustProblem(assertion: string, credentials: readonly FederatedCredential[]): string | undefined {
  try {
    const { aud, exp = 0, iss = '', sub = '' } = claimsOf(assertion)
    const ofIssuer = credentials.filter(({ issuer }) => issuer === iss)
    const ofSubject = ofIssuer.filter(({ subject }) => subject === sub)
    const problem = 'No matching federated identity record found for presented assertion'
    if (ofIssuer.length === 0) return `AADSTS700211: ${problem} issuer '${iss}'`
    if (ofSubject.length === 0) return `AADSTS700213: ${problem} subject '${sub}'`
    if (!ofSubject.some(({ audiences }) => [aud].flat().some((one) => audiences.includes(one ?? ''))))
      return `AADSTS700212: ${problem} audience '${[aud].flat().join(',')}'`
    return exp * 1000 < Date.now() ? 'AADSTS700024: Client assertion is not within its valid time range' : undefined
  } catch {
    return 'AADSTS50027: JWT token is invalid or malformed'
  }
}

function assertionProblem(assertion: string, { federatedSubject }: SimulatorConfig): string | undefined {
  try {
    const claims = claimsOf(assertion)
    if (![claims.aud].flat().includes(federatedAudience))
      return `AADSTS700212: No matching federated identity record found for presented assertion audience; it must be ${federatedAudience}`
    if ((claims.exp ?? 0) * 1000 < Date.now())
      return 'AADSTS700024: Client assertion is not within its valid time range'
    if (federatedSubject !== undefined && claims.sub !== federatedSubject)
      return `AADSTS700213: No matching federated identity record found for presented assertion subject '${claims.sub}'`
    return undefined
  } catch {
    return 'AADSTS50027: JWT token is invalid or malformed'
  }
}
