import { generateKeyPairSync, webcrypto } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'

x509.cryptoProvider.set(webcrypto as never)

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const lifetimeMs = 365 * 24 * 3_600_000

/** Files of the local cluster's PKI, by their paths. */
export interface Pki {
  /** Trusted by everybody: signs the serving certificates and the clients'. */
  readonly caFile: string
  readonly caKeyFile: string
  readonly serverCertFile: string
  readonly serverKeyFile: string
  readonly serviceAccountKeyFile: string
  readonly serviceAccountPublicFile: string
}

/** Where the files of a PKI stand in its folder. */
export function pkiFiles(folder: string): Pki {
  return {
    caFile: join(folder, 'ca.crt'),
    caKeyFile: join(folder, 'ca.key'),
    serverCertFile: join(folder, 'server.crt'),
    serverKeyFile: join(folder, 'server.key'),
    serviceAccountKeyFile: join(folder, 'service-account.key'),
    serviceAccountPublicFile: join(folder, 'service-account.pub'),
  }
}

/** Makes one local CA, a serving certificate for this machine's loopback, and the key that signs ServiceAccount tokens. */
export async function createPki(folder: string): Promise<Pki> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const files = pkiFiles(folder)
  const caKeys = await keyPair()
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity(),
    serialNumber: serial(),
    name: 'CN=joiner-local-ca',
    keys: caKeys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 1, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
        true,
      ),
    ],
  })
  const serverKeys = await keyPair()
  const server = await x509.X509CertificateGenerator.create({
    ...validity(),
    serialNumber: serial(),
    subject: 'CN=localhost',
    issuer: ca.subject,
    publicKey: serverKeys.publicKey,
    signingKey: caKeys.privateKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        { type: 'ip', value: '127.0.0.1' },
        { type: 'dns', value: 'localhost' },
        { type: 'dns', value: 'kubernetes.default.svc' },
      ]),
    ],
  })
  const serviceAccount = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  await Promise.all([
    secret(files.caKeyFile, await privatePem(caKeys.privateKey)),
    secret(files.serverKeyFile, await privatePem(serverKeys.privateKey)),
    secret(files.serviceAccountKeyFile, serviceAccount.privateKey),
    writeFile(files.serviceAccountPublicFile, serviceAccount.publicKey),
    writeFile(files.caFile, `${ca.toString('pem')}\n`),
    writeFile(files.serverCertFile, `${server.toString('pem')}\n`),
  ])
  return files
}

async function keyPair(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
}

function validity(): { notBefore: Date; notAfter: Date } {
  const now = Date.now()
  return { notBefore: new Date(now - 60_000), notAfter: new Date(now + lifetimeMs) }
}

function serial(): string {
  return Buffer.from(webcrypto.getRandomValues(new Uint8Array(8)))
    .toString('hex')
    .replace(/^[89a-f]/, '1')
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64')
  return `-----BEGIN PRIVATE KEY-----\n${der.replace(/(.{64})/g, '$1\n').trim()}\n-----END PRIVATE KEY-----\n`
}

function secret(path: string, text: string): Promise<void> {
  return writeFile(path, text, { mode: 0o600 })
}
