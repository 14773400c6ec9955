import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { objectId, type Principal } from '../access/principals.ts'
import { ArmError } from './arm-error.ts'
import type { SimulatorConfig } from './config.ts'

const defaultLifetimeSeconds = 3600

/** For whom ARM's tokens are, in each cloud, without a slash at the end. */
const armAudiences = [
  'https://management.azure.com',
  'https://management.core.windows.net',
  'https://management.usgovcloudapi.net',
  'https://management.core.usgovcloudapi.net',
  'https://management.chinacloudapi.cn',
  'https://management.core.chinacloudapi.cn',
]

/**
 * Access tokens: claims and their signature. The key is kept with the state, so a restarted simulator knows its tokens, as clients keep them
 * for an hour.
 */
export class AccessTokens {
  readonly lifetimeSeconds: number
  readonly #config: SimulatorConfig
  readonly #key: Buffer
  /** Its signature was found to be right: a client sends the same token for an hour. */
  #lastGood = ''
  readonly #newId: () => string

  constructor(config: SimulatorConfig, newId: () => string) {
    this.#config = config
    this.#newId = newId
    this.lifetimeSeconds = config.tokenSeconds ?? defaultLifetimeSeconds
    this.#key = config.stateDir === undefined ? Buffer.from(newId()) : keptKey(config.stateDir)
  }

  /** A token for an audience: a resource, or a scope that ends in `/.default`. Without a principal it is the configured identity's. */
  issue(audience: string, principal: Principal = { objectId, client: this.#config.clientId }): string {
    const { tenantId } = this.#config
    const claims = {
      aud: resourceOf(audience),
      exp: Math.floor(Date.now() / 1000) + this.lifetimeSeconds,
      appid: principal.client,
      oid: principal.objectId,
      tid: tenantId,
      uti: this.#newId(),
    }
    const body = [{ typ: 'JWT', alg: 'HS256' }, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    )
    return `${body.join('.')}.${this.#sign(body.join('.'))}`
  }

  /** Checks an Authorization header, and returns whose token it is. Errors: ARM's answers to a token that is not good. `self` is ARM's own address. */
  check(header: string | undefined, self: string): Principal {
    if (header === undefined)
      throw new ArmError(401, 'AuthenticationFailed', 'Authentication failed: the request has no Authorization header.')
    const token = header.replace(/^Bearer /, '')
    const body = token.slice(0, token.lastIndexOf('.'))
    if (token !== this.#lastGood && !this.#isSigned(body, token.slice(body.length + 1)))
      throw new ArmError(401, 'InvalidAuthenticationToken', 'The access token is invalid.')
    this.#lastGood = token
    const { exp, aud, oid, appid } = JSON.parse(Buffer.from(body.split('.')[1] ?? '', 'base64url').toString()) as {
      exp: number
      aud: string
      oid: string
      appid: string
    }
    if (exp * 1000 <= Date.now())
      throw new ArmError(
        401,
        'ExpiredAuthenticationToken',
        `The access token expired at ${new Date(exp * 1000).toISOString()}.`,
      )
    if (![...armAudiences, self].includes(aud))
      throw new ArmError(
        401,
        'InvalidAuthenticationTokenAudience',
        `The access token was made for another audience, '${aud}'. The allowed audiences are '${armAudiences.join(', ')}'.`,
      )
    return { objectId: oid, client: appid }
  }

  #isSigned(body: string, signature: string): boolean {
    const [given, expected] = [Buffer.from(signature), Buffer.from(this.#sign(body))]
    return given.length === expected.length && timingSafeEqual(given, expected)
  }

  #sign(body: string): string {
    return createHmac('sha256', this.#key).update(body).digest('base64url')
  }
}

function keptKey(folder: string): Buffer {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'token.key')
  if (!existsSync(file)) {
    writeFileSync(`${file}.tmp`, randomBytes(32), { mode: 0o600 })
    renameSync(`${file}.tmp`, file)
  }
  return readFileSync(file)
}

/** What a scope such as `https://management.azure.com/.default` is for; of several, as MSAL asks for them (`... openid offline_access profile`), the first. */
export function resourceOf(scopes: string): string {
  const [scope = ''] = scopes.trim().split(/\s+/)
  return scope.replace(/\/\.default$/, '').replace(/\/+$/, '')
}
