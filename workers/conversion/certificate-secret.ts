import { randomBytes } from 'node:crypto'
import { type Json } from '../../api/conversion/residue.ts'
import { isObject } from '../../core/values/json.ts'
import { isDue, makeCertificate } from './certificate.ts'
import type { Certificate } from './webhook.ts'

/** What the Secret of the conversion webhook holds. */
export interface Keys {
  /** Served by every replica. */
  readonly served: Certificate
  /** PEM certificates that the API server is to trust. */
  readonly trusted: string
  /** Will be served as soon as the API server trusts it. */
  readonly next?: Certificate
  /** Path of the webhook, which only those know who may read this Secret or the CRDs. It stays as long as the Secret does. */
  readonly path: string
}

export const secretName = 'joiner-conversion'

const pathForm = /^\/convert\/[0-9a-f]{32}$/

/**
 * The keys as they should be now; the same object when nothing is to be changed. A certificate is replaced in two steps, each its own
 * write: first the API server learns to trust the new one beside the old one, then the new one is served. Nothing that connects in
 * between is refused.
 */
export async function dueKeys(
  keys: Keys | undefined,
  { names, now }: { readonly names: readonly string[]; readonly now: Date },
  isTrusted: (certificate: Certificate) => boolean,
): Promise<Keys> {
  if (keys === undefined) {
    const served = await makeCertificate(names, now)
    return { served, trusted: served.cert, path: `/convert/${randomBytes(16).toString('hex')}` }
  }
  const { served, next, trusted, path } = keys
  if (next !== undefined && !isDue(next.cert, names, now))
    return isTrusted(next) ? { served: next, trusted, path } : keys
  if (!isDue(served.cert, names, now)) return keys
  const made = await makeCertificate(names, now)
  return { served, trusted: served.cert + made.cert, next: made, path }
}

/**
 * Reads the keys of a Secret; undefined when it lacks one, or when one is not of its form: such a Secret is written again, as is the empty one that
 * the chart makes.
 */
export function keysOf(secret: Json): Keys | undefined {
  const data = isObject(secret['data']) ? secret['data'] : {}
  const textOf = (key: string): string => {
    const value = data[key]
    return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : ''
  }
  const pem = (key: string): string | undefined => (textOf(key).startsWith('-----BEGIN ') ? textOf(key) : undefined)
  const [cert, key, trusted] = ['tls.crt', 'tls.key', 'ca.crt'].map(pem)
  const path = textOf('path')
  if (cert === undefined || key === undefined || trusted === undefined || !pathForm.test(path)) return undefined
  const [nextCert, nextKey] = ['next.crt', 'next.key'].map(pem)
  return {
    served: { cert, key },
    trusted,
    path,
    ...(nextCert === undefined || nextKey === undefined ? {} : { next: { cert: nextCert, key: nextKey } }),
  }
}

/** The `data` of a Secret for a merge patch: a key that is no longer there is null. */
export function secretData({ served, trusted, next, path }: Keys): Readonly<Record<string, string | null>> {
  const encoded = (text: string | undefined) => (text === undefined ? null : Buffer.from(text).toString('base64'))
  return {
    'tls.crt': encoded(served.cert),
    'tls.key': encoded(served.key),
    'ca.crt': encoded(trusted),
    'next.crt': encoded(next?.cert),
    'next.key': encoded(next?.key),
    path: encoded(path),
  }
}
