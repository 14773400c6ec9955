import { randomBytes, webcrypto, X509Certificate } from 'node:crypto'
import type { Json } from '../../api/conversion/residue.ts'
import { isObject } from '../../core/values/json.ts'
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

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const dayMs = 24 * 3_600_000
const lifetimeMs = 365 * dayMs
/** Long enough for every replica and the CRDs to have the new one before the old one ends. */
const renewBeforeMs = 60 * dayMs
/** Clocks of other machines may be behind. */
const toleranceMs = 3_600_000

/**
 * A certificate for these names of the webhook's Service. It signs itself, so that the CRDs' CA bundle is the certificate: no key of a
 * CA has to be kept.
 */
export async function makeCertificate(names: readonly string[], now: Date): Promise<Certificate> {
  // Loaded where one is made, once in ten months: Node itself reads certificates.
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  x509.cryptoProvider.set(webcrypto as never)
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: Buffer.from(webcrypto.getRandomValues(new Uint8Array(16)).with(0, 1)).toString('hex'),
    notBefore: new Date(now.getTime() - toleranceMs),
    notAfter: new Date(now.getTime() + lifetimeMs),
    name: 'CN=joiner-conversion',
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyCertSign, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns', value }))),
    ],
  })
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey))
  return {
    cert: `${certificate.toString('pem')}\n`,
    key: `-----BEGIN PRIVATE KEY-----\n${key.toString('base64').replace(/.{64}/g, '$&\n').trimEnd()}\n-----END PRIVATE KEY-----\n`,
  }
}

/** Whether a certificate is to be made again: it ends soon, begins later (a wrong clock made it), lacks a name, or cannot be read at all. */
export function isDue(pem: string, names: readonly string[], now: Date): boolean {
  try {
    const { validFromDate, validToDate, subjectAltName = '' } = new X509Certificate(pem)
    const served = new Set(subjectAltName.split(', '))
    return (
      validFromDate > now ||
      validToDate.getTime() - now.getTime() < renewBeforeMs ||
      !names.every((name) => served.has(`DNS:${name}`))
    )
  } catch {
    return true
  }
}
