import { connect as connectHttp2 } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls, type PeerCertificate, type TLSSocket } from 'node:tls'
import type { ConnectOptions } from './credentials.ts'

/** How a server meets a connection. */
export type Handshake =
  /** TCP fails: no such name, refused, no route. */
  | { readonly kind: 'unreachable'; readonly message: string }
  | { readonly kind: 'silent' }
  /** TLS is spoken to a server that speaks none, and the other way round. */
  | { readonly kind: 'no-tls' }
  | { readonly kind: 'tls-expected' }
  | { readonly kind: 'server-untrusted'; readonly subject: string; readonly issuer: string; readonly code: string }
  | { readonly kind: 'server-expired'; readonly subject: string; readonly validTo: string }
  | { readonly kind: 'server-name'; readonly names: string; readonly wanted: string }
  /** The server ends the connection because of the client's certificate, or because there is none. */
  | { readonly kind: 'client-refused'; readonly alert: string }
  | { readonly kind: 'other'; readonly message: string }
  /** The server speaks HTTP/2. */
  | { readonly kind: 'fine' }

const limitMs = 4000

/**
 * Connects as gRPC does, up to the first frame of HTTP/2: with TLS 1.3 a server judges the client's certificate only after the client has finished
 * its handshake. Never throws.
 */
export function handshake({ address, tls }: Pick<ConnectOptions, 'address' | 'tls'>): Promise<Handshake> {
  const { host, port } = hostAndPort(address)
  const options = typeof tls === 'object' ? tls : {}
  const wanted = options.serverNameOverride ?? host
  return new Promise((resolve) => {
    let isConnected = false
    let isSecure = false
    const socket =
      tls === false
        ? connectTcp(port, host)
        : connectTls({
            host,
            port,
            // An address is no server name in TLS; it is compared with the certificate all the same.
            ...(isAddress(wanted) ? {} : { servername: wanted }),
            ALPNProtocols: ['h2'],
            // Whether the server can be trusted is looked at below, where its certificate is still there to be named. Nothing secret is sent.
            rejectUnauthorized: false,
            ...(options.serverRootCACertificate ? { ca: Buffer.from(options.serverRootCACertificate) } : {}),
            ...(options.clientCertPair
              ? { cert: Buffer.from(options.clientCertPair.crt), key: Buffer.from(options.clientCertPair.key) }
              : {}),
          })
    const session = connectHttp2(`http${tls === false ? '' : 's'}://${address}`, { createConnection: () => socket })
    let isOver = false
    const end = (found: Handshake) => {
      isOver = true
      clearTimeout(timer)
      resolve(found)
      session.destroy()
      socket.destroy()
    }
    const failed = (error: NodeJS.ErrnoException) => {
      if (isOver) return
      if (!isConnected) end({ kind: 'unreachable', message: textOf(error) })
      else if (tls === false) end({ kind: 'tls-expected' })
      else end(tlsFailure(error, isSecure))
    }
    const timer = setTimeout(
      () => end(isConnected ? { kind: 'silent' } : { kind: 'unreachable', message: 'no answer' }),
      limitMs,
    )
    socket.once('connect', () => {
      isConnected = true
    })
    socket.once('secureConnect', () => {
      isSecure = true
      const { authorized, authorizationError } = socket as TLSSocket
      // An Error by its type, and in truth the code of one.
      if (!authorized)
        end(serverFailure(String(authorizationError), (socket as TLSSocket).getPeerCertificate(), wanted))
    })
    socket.on('error', failed)
    session.on('error', failed)
    session.once('remoteSettings', () => end({ kind: 'fine' }))
    session.once('close', () => failed(new Error('the server closed the connection')))
  })
}

/** What an alert of the server's says of the client's certificate (RFC 8446, 6.2), in the words of OpenSSL's error codes. */
const certificateAlert =
  /ALERT_(BAD_CERTIFICATE|CERTIFICATE_\w+|UNSUPPORTED_CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE_FAILURE)$/

/** What is wrong with the server's certificate, by OpenSSL's code. */
function serverFailure(code: string, peer: PeerCertificate, wanted: string): Handshake {
  const subject = nameOf(peer.subject)
  if (code === 'CERT_HAS_EXPIRED')
    return { kind: 'server-expired', subject, validTo: new Date(peer.valid_to).toISOString() }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return { kind: 'server-name', names: peer.subjectaltname ?? subject, wanted }
  return { kind: 'server-untrusted', subject, issuer: nameOf(peer.issuer), code }
}

function tlsFailure(error: NodeJS.ErrnoException, isSecure: boolean): Handshake {
  const { code = '' } = error
  const [, alert] = certificateAlert.exec(code) ?? []
  if (alert !== undefined) return { kind: 'client-refused', alert: alert.toLowerCase().replaceAll('_', ' ') }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|NO_PROTOCOLS_AVAILABLE|HTTP_REQUEST/.test(code))
    return { kind: 'no-tls' }
  // A server that closes right after the handshake, without an alert, has most often refused the client.
  if (isSecure) return { kind: 'client-refused', alert: 'connection closed after the handshake' }
  return { kind: 'other', message: textOf(error) }
}

function nameOf(name: PeerCertificate['subject'] | undefined): string {
  return Object.entries(name ?? {})
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(', ')
}

function textOf(error: NodeJS.ErrnoException): string {
  if (error.message !== '') return error.message
  return error instanceof AggregateError
    ? error.errors.map((each: Error) => each.message).join('; ')
    : (error.code ?? error.name)
}

function isAddress(host: string): boolean {
  return /^[\d.]+$|:/.test(host)
}

/** As Temporal's clients read an address: 7233 without a port, brackets around IPv6. */
export function hostAndPort(address: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain = '', port] = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?$/.exec(address) ?? []
  return { host: bracketed ?? plain, port: Number(port ?? 7233) }
}
