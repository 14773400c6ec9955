import { webcrypto } from 'node:crypto'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'

x509.cryptoProvider.set(webcrypto as never)

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const dayMs = 24 * 3_600_000
/** Clocks of tests are a year ahead, and a month behind. */
const [soonerMs, lifetimeMs] = [40 * dayMs, 400 * dayMs]

/** A certificate and its key, in PEM. */
export interface Issued {
  readonly cert: string
  readonly key: string
}

export interface IssueOptions {
  /** Such as `CN=localhost`. */
  readonly subject: string
  readonly usages: readonly ('serverAuth' | 'clientAuth')[]
  /** Names and IP addresses that a server answers to. */
  readonly names?: readonly string[]
  /** When the certificate ends. Default: in 400 days. */
  readonly notAfter?: Date
}

/** A certificate authority of the local cluster, or of a test. */
export class Authority {
  readonly cert: string
  readonly #certificate: x509.X509Certificate
  readonly #keys: webcrypto.CryptoKeyPair

  private constructor(certificate: x509.X509Certificate, keys: webcrypto.CryptoKeyPair) {
    this.cert = pemOf(certificate)
    this.#certificate = certificate
    this.#keys = keys
  }

  static async create(name: string): Promise<Authority> {
    const keys = await keyPair()
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      ...validity(),
      serialNumber: serial(),
      name,
      keys,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(true, 1, true),
        new x509.KeyUsagesExtension(
          x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
          true,
        ),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    })
    return new Authority(certificate, keys)
  }

  /** The authority's own key, in PEM. */
  key(): Promise<string> {
    return privatePem(this.#keys.privateKey)
  }

  async issue({ subject, usages, names = [], notAfter }: IssueOptions): Promise<Issued> {
    const keys = await keyPair()
    const { notBefore, ...end } = validity()
    const certificate = await x509.X509CertificateGenerator.create({
      // A certificate that has ended was valid before.
      notBefore:
        notAfter === undefined ? notBefore : new Date(Math.min(notBefore.getTime(), notAfter.getTime() - 3_600_000)),
      notAfter: notAfter ?? end.notAfter,
      serialNumber: serial(),
      subject,
      issuer: this.#certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(false),
        new x509.ExtendedKeyUsageExtension(usages.map((usage) => x509.ExtendedKeyUsage[usage])),
        await x509.AuthorityKeyIdentifierExtension.create(this.#certificate),
        ...(names.length === 0
          ? []
          : [
              new x509.SubjectAlternativeNameExtension(
                names.map((value) => ({ type: /^[\d.]+$/.test(value) ? ('ip' as const) : ('dns' as const), value })),
              ),
            ]),
      ],
    })
    return { cert: pemOf(certificate), key: await privatePem(keys.privateKey) }
  }
}

async function keyPair(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
}

function validity(): { notBefore: Date; notAfter: Date } {
  const now = Date.now()
  return { notBefore: new Date(now - soonerMs), notAfter: new Date(now + lifetimeMs) }
}

function serial(): string {
  return Buffer.from(webcrypto.getRandomValues(new Uint8Array(8)))
    .toString('hex')
    .replace(/^[89a-f]/, '1')
}

function pemOf(certificate: x509.X509Certificate): string {
  return `${certificate.toString('pem')}\n`
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64')
  return `-----BEGIN PRIVATE KEY-----\n${der.replace(/(.{64})/g, '$1\n').trim()}\n-----END PRIVATE KEY-----\n`
}
