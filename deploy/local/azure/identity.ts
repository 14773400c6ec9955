import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { ArmError } from './arm-error.ts'
import type { SimulatorConfig } from './config.ts'

const audience = 'api://AzureADTokenExchange'
const defaultLifetimeSeconds = 3600

/**
 * Access tokens: an end and its signature. The key is kept with the state, so a restarted simulator knows its tokens, as clients keep them
 * for an hour.
 */
export class AccessTokens {
  readonly lifetimeSeconds: number
  readonly #key: Buffer

  constructor({ stateDir, tokenSeconds }: Pick<SimulatorConfig, 'stateDir' | 'tokenSeconds'>) {
    this.lifetimeSeconds = tokenSeconds ?? defaultLifetimeSeconds
    mkdirSync(stateDir, { recursive: true })
    const file = join(stateDir, 'token.key')
    if (!existsSync(file)) {
      writeFileSync(`${file}.tmp`, randomBytes(32), { mode: 0o600 })
      renameSync(`${file}.tmp`, file)
    }
    this.#key = readFileSync(file)
  }

  issue(): string {
    const body = `local.${Date.now() + this.lifetimeSeconds * 1000}.${randomUUID()}`
    return `${body}.${this.#sign(body)}`
  }

  /** Checks an Authorization header. Errors: ARM's three answers to a token that is not good. */
  check(header: string | undefined): void {
    if (header === undefined)
      throw new ArmError(401, 'AuthenticationFailed', 'Authentication failed: the request has no Authorization header.')
    const token = header.replace(/^Bearer /, '')
    const body = token.slice(0, token.lastIndexOf('.'))
    const [signature, expected] = [token.slice(body.length + 1), this.#sign(body)].map((text) => Buffer.from(text))
    if (signature?.length !== expected?.length || !timingSafeEqual(signature as Buffer, expected as Buffer))
      throw new ArmError(401, 'InvalidAuthenticationToken', 'The access token is invalid.')
    const end = Number(body.split('.')[1])
    if (end <= Date.now())
      throw new ArmError(
        401,
        'ExpiredAuthenticationToken',
        `The access token expired at ${new Date(end).toISOString()}.`,
      )
  }

  #sign(body: string): string {
    return createHmac('sha256', this.#key).update(body).digest('base64url')
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
        expires_in: tokens.lifetimeSeconds,
        ext_expires_in: tokens.lifetimeSeconds,
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
