import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { SimulatorConfig } from './config.ts'

const audience = 'api://AzureADTokenExchange'
const lifetimeSeconds = 3600

/** Tokens that were handed out, with their ends in epoch milliseconds. */
export class AccessTokens {
  readonly #ends = new Map<string, number>()

  issue(): string {
    const token = `local.${randomUUID()}`
    this.#ends.set(token, Date.now() + lifetimeSeconds * 1000)
    return token
  }

  isValid(header: string | undefined): boolean {
    const token = header?.replace(/^Bearer /, '') ?? ''
    // A restarted simulator still knows the form of its own tokens: clients keep them for an hour.
    return token.startsWith('local.') && (this.#ends.get(token) ?? Number.POSITIVE_INFINITY) > Date.now()
  }
}

/** The token endpoint for workload identity: a projected ServiceAccount token in, an access token out. */
export function registerIdentity(app: FastifyInstance, config: SimulatorConfig, tokens: AccessTokens): void {
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
      const problem = assertionProblem(request.body['client_assertion'] ?? '', request.body['client_id'] ?? '', config)
      if (problem !== undefined) {
        return reply.code(401).send({
          error: 'invalid_client',
          error_description: problem,
          error_codes: [700024],
          correlation_id: randomUUID(),
        })
      }
      return {
        token_type: 'Bearer',
        expires_in: lifetimeSeconds,
        ext_expires_in: lifetimeSeconds,
        access_token: tokens.issue(),
      }
    },
  )
}

function assertionProblem(assertion: string, clientId: string, config: SimulatorConfig): string | undefined {
  if (clientId !== config.clientId) return `AADSTS700016: application "${clientId}" was not found in the directory`
  try {
    const claims = JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString()) as {
      aud?: string | string[]
      exp?: number
    }
    if (![claims.aud].flat().includes(audience)) return `AADSTS700212: the assertion's audience is not ${audience}`
    if ((claims.exp ?? 0) * 1000 < Date.now()) return 'AADSTS700024: the assertion is outside of its time range'
    return undefined
  } catch {
    return 'AADSTS50027: the assertion is not a JSON web token'
  }
}
