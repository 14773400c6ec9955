import { once } from 'node:events'
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'

const permissionDenied = '7'

/** Stands before a Temporal that speaks no TLS, and denies some methods, as an authorizer does that gives no administrator's rights. */
export class DenyingTemporal {
  readonly address: string
  /** Names of methods that are denied now, such as `AddSearchAttributes`. */
  denied: ReadonlySet<string>
  /** How often each denied method was called. */
  readonly refusals = new Map<string, number>()
  readonly #server: Http2Server
  readonly #port: number

  private constructor(server: Http2Server, port: number, denied: readonly string[]) {
    this.address = `127.0.0.1:${(server.address() as AddressInfo).port}`
    this.denied = new Set(denied)
    this.#server = server
    this.#port = port
    server.on('session', (session) => {
      const upstream = this.#upstreamOf(session)
      session.on('stream', (stream, headers) => {
        stream.on('error', () => {})
        const method = String(headers[constants.HTTP2_HEADER_PATH]).split('/').at(-1) ?? ''
        if (this.denied.has(method)) return this.#refuse(stream, method)
        const request = upstream().request(headers)
        request.on('error', () => stream.close(constants.NGHTTP2_CANCEL))
        stream.once('close', () => request.close(constants.NGHTTP2_CANCEL))
        // What nobody reads of a request that is refused early would fill the window of the whole connection.
        request.once('close', () => stream.resume())
        request.once('response', (answer, flags) => {
          if (stream.destroyed) return
          const endStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
          stream.respond(answer, { endStream, waitForTrailers: !endStream })
          let trailers = {}
          request.once('trailers', (found) => {
            trailers = found
          })
          stream.once('wantTrailers', () => stream.sendTrailers(trailers))
          request.pipe(stream)
        })
        stream.pipe(request)
      })
    })
  }

  /** A proxy before the server on that port. */
  static async start(port: number, denied: readonly string[]): Promise<DenyingTemporal> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new DenyingTemporal(server, port, denied)
  }

  stop(): void {
    this.#server.close()
  }

  /** Returns what gives the server's connection that takes requests. The server retires each after some minutes, and answers on it what it has begun. */
  #upstreamOf(session: ServerHttp2Session): () => ClientHttp2Session {
    let current: ClientHttp2Session | undefined
    const connected = () => {
      const upstream = connect(`http://127.0.0.1:${this.#port}`)
      upstream.once('goaway', () => {
        if (current === upstream) current = undefined
      })
      upstream.on('error', () => upstream.destroy())
      upstream.once('close', () => {
        if (current === upstream) session.destroy()
      })
      session.once('close', () => upstream.destroy())
      return upstream
    }
    session.on('error', () => session.destroy())
    return () => {
      if (current === undefined || current.closed) current = connected()
      return current
    }
  }

  #refuse(stream: ServerHttp2Stream, method: string): void {
    this.refusals.set(method, (this.refusals.get(method) ?? 0) + 1)
    stream.resume()
    stream.respond(
      {
        ':status': 200,
        'content-type': 'application/grpc',
        'grpc-status': permissionDenied,
        'grpc-message': 'Request unauthorized.',
      },
      { endStream: true },
    )
  }
}
