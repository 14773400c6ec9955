import { Readable } from 'node:stream'
import type { HttpClient, PipelinePolicy } from '@azure/core-rest-pipeline'
import { jsonIn } from '../../../core/values/json.ts'
import { readAtMost } from '../../limited-body.ts'
import { plainGet } from '../answers/plain-get.ts'
import type { AzureConfig } from '../azure-config.ts'
import { armScope } from './clouds.ts'

/** Answer of the token server: Go's names and RFC 3339 times. */
interface TokenAnswer {
  readonly Token?: string
  readonly ExpiresOn?: string
  readonly RefreshOn?: string
}

interface Token {
  readonly token: string
  readonly refreshAt: number
}

export interface AuxiliaryTokenInput {
  /** Address of the token server. */
  readonly url: string
  /** Scope of the token, such as `https://management.azure.com/.default`. */
  readonly scope: string
  /** Epoch milliseconds. */
  readonly now: () => number
  readonly fetch: (url: string, signal: AbortSignal) => Promise<Response>
}

/** A token with less time left is not used any more. */
const leastLeftMs = 5 * 60_000
/** Longest wait for the whole answer. */
const timeoutMs = 10_000
const mostTokenBytes = 2 ** 20

/**
 * Adds AKS' token to Joiner's own when a VM is made, since shared images are in another tenant. The token is used until it should be
 * renewed, or has less than five minutes left (reference/azure-provider.md 4.9). Requests that come meanwhile share one renewal.
 * Errors: the token server does not answer, or without a token.
 */
export function auxiliaryToken({ url, scope, now, fetch }: AuxiliaryTokenInput): PipelinePolicy {
  let current: Token | undefined
  let renewal: Promise<Token> | undefined

  async function renewed(): Promise<Token> {
    const address = new URL(url)
    address.searchParams.set('scope', scope)
    const response = await fetch(address.href, AbortSignal.timeout(timeoutMs))
    if (!response.ok) throw unusable(`HTTP ${response.status}`)
    const answer = jsonIn((await readAtMost(response.body ?? [], mostTokenBytes)) ?? '')
    const { Token: token = '', ExpiresOn = '', RefreshOn = '' } = (answer ?? {}) as TokenAnswer
    const expiresAt = Date.parse(ExpiresOn)
    if (token === '' || Number.isNaN(expiresAt)) throw unusable('no token with an end (Token, ExpiresOn)')
    // Go writes the year 1 for a time that is not set.
    const refreshOn = Date.parse(RefreshOn)
    const latest = expiresAt - leastLeftMs
    return { token, refreshAt: refreshOn > 0 ? Math.min(refreshOn, latest) : latest }
  }

  function unusable(what: string): Error {
    return new Error(`token server ${url}: answered with ${what}; check SIG_ACCESS_TOKEN_SERVER_URL`)
  }

  async function token(): Promise<string> {
    if (current === undefined || now() >= current.refreshAt) {
      renewal ??= renewed().finally(() => {
        renewal = undefined
      })
      current = await renewal
    }
    return current.token
  }

  return {
    name: 'joinerAuxiliaryToken',
    async sendRequest(request, next) {
      if (request.method === 'PUT' && /\/virtualMachines\/[^/?]+(\?|$)/i.test(request.url))
        request.headers.set('x-ms-authorization-auxiliary', `Bearer ${await token()}`)
      return next(request)
    },
  }
}

/** Returns the policy for images from shared galleries; undefined where a configuration uses none. */
export function auxiliaryTokenFor(
  {
    sharedGallery,
    tokenAudience = 'https://management.azure.com',
  }: Pick<AzureConfig, 'sharedGallery' | 'tokenAudience'>,
  http?: HttpClient,
): PipelinePolicy | undefined {
  if (sharedGallery === undefined || sharedGallery.tokenServerUrl === '') return undefined
  return auxiliaryToken({
    url: sharedGallery.tokenServerUrl,
    scope: armScope(tokenAudience),
    now: () => Date.now(),
    fetch: async (url, signal) => {
      if (http === undefined) return fetch(url, { signal, redirect: 'error' })
      const { status, body } = await plainGet(url, { http, signal })
      return new Response(Readable.toWeb(body) as ReadableStream, { status })
    },
  })
}
