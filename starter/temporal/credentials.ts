import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { TLSConfig } from '@temporalio/client'
import type { ClientConfigProfile } from '@temporalio/envconfig'

/** What a connection is made with. */
export interface ConnectOptions {
  readonly address: string
  /** False: no TLS. True: TLS with the authorities that the system trusts. */
  readonly tls: TLSConfig | boolean
  readonly apiKey?: string
  /** gRPC metadata (headers) of each request. */
  readonly metadata: Readonly<Record<string, string>>
  /** The file of the client certificate, where it is one. */
  readonly certificateFile?: string
}

/** A file of the settings that cannot be used. The message names variable, file and remedy. */
export class TemporalFileError extends Error {
  override readonly name = 'TemporalFileError'
}

type Tls = ClientConfigProfile['tls']
type Source = NonNullable<NonNullable<Tls>['clientCert']>

/**
 * Checks that the files of the TLS settings hold what they should, and that certificate and key belong together: while a Secret is being
 * replaced, one of them may be old. Errors: `TemporalFileError`.
 */
export function checkTls(tls: Tls): void {
  if (tls === undefined || tls.disabled === true) return
  if (tls.serverCACert !== undefined) parsed('TEMPORAL_TLS_SERVER_CA_CERT', tls.serverCACert, certificate)
  if (tls.clientCert === undefined || tls.clientKey === undefined) return
  const cert = parsed('TEMPORAL_TLS_CLIENT_CERT', tls.clientCert, certificate)
  const key = parsed('TEMPORAL_TLS_CLIENT_KEY', tls.clientKey, (pem) => createPrivateKey(pem))
  if (!cert.checkPrivateKey(key))
    throw new TemporalFileError(
      `${named('TEMPORAL_TLS_CLIENT_KEY', tls.clientKey)}: is not the key of ${named('TEMPORAL_TLS_CLIENT_CERT', tls.clientCert)}; use the key that the certificate was made for`,
    )
}

function certificate(pem: string): X509Certificate {
  return new X509Certificate(pem)
}

function parsed<T>(name: string, source: Source, parse: (pem: string) => T): T {
  let pem: string
  try {
    pem = 'path' in source ? readFileSync(source.path, 'utf8') : Buffer.from(source.data).toString('utf8')
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException
    throw new TemporalFileError(
      `${named(name, source)}: cannot be read (${code}); correct the path, or mount the file`,
      { cause: error },
    )
  }
  try {
    return parse(pem)
  } catch (error) {
    const what = name.endsWith('KEY') ? 'private key without a passphrase' : 'certificate'
    throw new TemporalFileError(`${named(name, source)}: is not a ${what} in PEM; write it as BEGIN ... END blocks`, {
      cause: error,
    })
  }
}

/** A key is never printed, so of the text itself there is no more than its variable's name. */
function named(name: string, source: Source): string {
  return 'path' in source ? `${name}_PATH "${source.path}"` : `${name}_DATA`
}

/** A digest that changes when anything changes that a connection is made with. */
export function fingerprint(options: ConnectOptions): string {
  const hash = createHash('sha256')
  const { tls, apiKey = '', address, metadata } = options
  hash.update(JSON.stringify([address, apiKey, metadata, typeof tls === 'object' ? tls.serverNameOverride : tls]))
  if (typeof tls === 'object')
    for (const part of [tls.serverRootCACertificate, tls.clientCertPair?.crt, tls.clientCertPair?.key])
      hash.update('|').update(part ?? '')
  return hash.digest('hex')
}
