import { webcrypto, X509Certificate } from 'node:crypto'
import type { Certificate } from './webhook.ts'

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

/** Whether a certificate is to be made again: it ends soon, lacks a name, or cannot be read at all. */
export function isDue(pem: string, names: readonly string[], now: Date): boolean {
  try {
    const { validToDate, subjectAltName = '' } = new X509Certificate(pem)
    const served = new Set(subjectAltName.split(', '))
    return validToDate.getTime() - now.getTime() < renewBeforeMs || !names.every((name) => served.has(`DNS:${name}`))
  } catch {
    return true
  }
}
