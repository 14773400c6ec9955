import { generateKeyPairSync } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Authority, type IssueOptions } from './authority.ts'

/** Files of the local cluster's PKI, by their paths. */
export interface Pki {
  /** Trusted by everybody: signs the serving certificates and the clients'. */
  readonly caFile: string
  readonly caKeyFile: string
  readonly serverCertFile: string
  readonly serverKeyFile: string
  /** What a client of Temporal shows where Temporal demands certificates. */
  readonly temporalClientCertFile: string
  readonly temporalClientKeyFile: string
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
    temporalClientCertFile: join(folder, 'temporal-client.crt'),
    temporalClientKeyFile: join(folder, 'temporal-client.key'),
    serviceAccountKeyFile: join(folder, 'service-account.key'),
    serviceAccountPublicFile: join(folder, 'service-account.pub'),
  }
}

/** What a PKI has besides the usual. */
export interface MorePki {
  /** Names and addresses that the servers have besides those of the loopback interface. */
  readonly serverNames?: readonly string[]
  /** More certificates; the key `kubelet` makes kubelet.crt and kubelet.key. */
  readonly certificates?: Readonly<Record<string, IssueOptions>>
}

/**
 * Makes one local CA, a serving certificate for this machine's loopback, a certificate for clients of Temporal, and the key that signs ServiceAccount
 * tokens.
 */
export async function createPki(folder: string, { serverNames = [], certificates = {} }: MorePki = {}): Promise<Pki> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const files = pkiFiles(folder)
  const ca = await Authority.create('CN=joiner-local-ca')
  const [server, client] = await Promise.all([
    ca.issue({
      subject: 'CN=localhost',
      usages: ['serverAuth'],
      names: ['127.0.0.1', 'localhost', 'kubernetes.default.svc', ...serverNames],
    }),
    ca.issue({ subject: 'CN=joiner', usages: ['clientAuth'] }),
  ])
  for (const [name, options] of Object.entries(certificates)) {
    const { cert, key } = await ca.issue(options)
    await Promise.all([writeFile(join(folder, `${name}.crt`), cert), secret(join(folder, `${name}.key`), key)])
  }
  const serviceAccount = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  await Promise.all([
    secret(files.caKeyFile, await ca.key()),
    secret(files.serverKeyFile, server.key),
    secret(files.temporalClientKeyFile, client.key),
    secret(files.serviceAccountKeyFile, serviceAccount.privateKey),
    writeFile(files.serviceAccountPublicFile, serviceAccount.publicKey),
    writeFile(files.caFile, ca.cert),
    writeFile(files.serverCertFile, server.cert),
    writeFile(files.temporalClientCertFile, client.cert),
  ])
  return files
}

function secret(path: string, text: string): Promise<void> {
  return writeFile(path, text, { mode: 0o600 })
}
