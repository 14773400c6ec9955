import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { ConnectionLimit } from '../telemetry/connection-limit.ts'
import type { WebhookLimits } from './limits.ts'
import { answerReview } from './review.ts'

export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface Serving {
  readonly certificate: Certificate
  /** Path that the API server calls, such as `/convert/` and 32 digits. Whoever does not know it is not listened to. */
  readonly path: string
}

/** Something that was refused or failed, as its status; `closed`: a connection that was one too many. */
export type Refusal = 400 | 404 | 405 | 411 | 413 | 429 | 500 | 'closed'

/** Records what becomes of requests, without their content. */
export interface WebhookEvents {
  readonly answered: (failure: string | undefined) => void
  readonly refused: (why: Refusal) => void
}

export interface ConversionWebhook {
  readonly port: number
  /** Serves with another certificate and path from now on; connections that are open stay. */
  use(serving: Serving): void
  close(): Promise<void>
}

/**
 * Converts NodePools and NodeClaims for the API server. Path, method, length and room are looked at in this order before a byte of a body is read;
 * nothing is parsed that is larger than the limits. Errors: the port is taken, or the certificate cannot be read.
 */
export async function startConversionWebhook(
  { port, serving, limits }: { readonly port: number; readonly serving: Serving; readonly limits: WebhookLimits },
  events: WebhookEvents,
): Promise<ConversionWebhook> {
  const admission = new Admission(limits)
  const connections = new ConnectionLimit(limits.connections)
  let { path } = serving
  const server = createServer(
    { ...serving.certificate, minVersion: 'TLSv1.2', ...timesOf(limits), maxHeaderSize: 8192 },
    (request, response) => {
      answer(request, response).catch(() =>
        refuse(events, response, { status: 500, text: 'the review could not be answered' }),
      )
    },
  )
  // A client that takes its time to read an answer.
  server.setTimeout(limits.requestMs)
  server.on('connection', (socket) => {
    if (connections.add(socket as Socket)) events.refused('closed')
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = refusalOf(request, path, limits)
    if (refusal !== undefined) return refuse(events, response, refusal)
    const length = Number(request.headers['content-length'])
    const leave = admission.enter(request.socket.remoteAddress ?? '', length)
    if (leave === undefined) return refuse(events, response, tooMany)
    response.once('close', leave)
    const body = await bodyOf(request, length)
    if (body === undefined) return
    const { status, body: text, failure } = answerReview(body, limits.values)
    if (status !== 200) return refuse(events, response, { status, text })
    events.answered(failure)
    response.setHeader('content-type', 'application/json')
    response.end(text)
  }

  // Replicas on one machine share a port, as those in a cluster share a Service.
  server.listen({ port, host: '0.0.0.0', reusePort: process.platform === 'linux' })
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    use(next) {
      path = next.path
      server.setSecureContext({ ...next.certificate, minVersion: 'TLSv1.2' })
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const timesOf = ({ headersMs, requestMs }: WebhookLimits) => ({
  handshakeTimeout: headersMs,
  headersTimeout: headersMs,
  requestTimeout: requestMs,
  // The API server keeps connections for longer; it opens another one when it has to.
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 1000,
})

interface RefusedRequest {
  readonly status: Refusal & number
  readonly text: string
  readonly headers?: Readonly<Record<string, string>>
}

/** client-go tries again after this many seconds, ten times. */
const tooMany: RefusedRequest = { status: 429, text: 'too many conversions at once', headers: { 'retry-after': '1' } }

/** Why a request is not even read; undefined: it is. */
function refusalOf(
  { url = '', method, headers }: IncomingMessage,
  path: string,
  { bodyBytes }: WebhookLimits,
): RefusedRequest | undefined {
  if (!isSame(url.replace(/\?.*$/s, ''), path)) return { status: 404, text: 'not found' }
  if (method !== 'POST') return { status: 405, text: 'use POST' }
  const length = headers['content-length']
  if (length === undefined) return { status: 411, text: 'say how long the review is' }
  return Number(length) > bodyBytes ? { status: 413, text: `a review has at most ${bodyBytes} bytes` } : undefined
}

/** Compares in a time that does not tell how much of the path is right. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}

/** Undefined: the client has gone, or took too long. */
async function bodyOf(request: IncomingMessage, length: number): Promise<Uint8Array | undefined> {
  // Of memory that was never written the system gives none, so a length that is only claimed costs nothing.
  const body = Buffer.allocUnsafeSlow(length)
  let at = 0
  try {
    for await (const chunk of request) at += (chunk as Buffer).copy(body, at)
  } catch {
    return undefined
  }
  return at === length ? body : undefined
}

/** Refuses and closes, so that the rest of a body is not read. A client that is to come back keeps its connection. */
function refuse(events: WebhookEvents, response: ServerResponse, { status, text, headers = {} }: RefusedRequest): void {
  events.refused(status)
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { ...(status === 429 ? {} : { connection: 'close' }), ...headers })
  response.end(text.endsWith('\n') ? text : `${text}\n`)
}

interface InFlight {
  requests: number
  bytes: number
}

type RequestLimits = Pick<WebhookLimits, 'requests' | 'requestsOfAddress' | 'bytes' | 'bytesOfAddress'>

/** Counts the requests that are being read or answered, together and by address, so that one client leaves room for the others. */
export class Admission {
  readonly #limits: RequestLimits
  readonly #all: InFlight = { requests: 0, bytes: 0 }
  readonly #byAddress = new Map<string, InFlight>()

  constructor(limits: RequestLimits) {
    this.#limits = limits
  }

  /** Admits a request of so many bytes. Returns what ends it, which may be called more than once; undefined: there is no room now. */
  enter(address: string, bytes: number): (() => void) | undefined {
    const own = this.#byAddress.get(address) ?? { requests: 0, bytes: 0 }
    const { requests, requestsOfAddress, bytes: mostBytes, bytesOfAddress } = this.#limits
    const isRoomForAll = hasRoom(this.#all, { requests, bytes: mostBytes }, bytes)
    if (!isRoomForAll || !hasRoom(own, { requests: requestsOfAddress, bytes: bytesOfAddress }, bytes)) return undefined
    this.#byAddress.set(address, own)
    const counts = [this.#all, own]
    for (const count of counts) {
      count.requests += 1
      count.bytes += bytes
    }
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      for (const count of counts) {
        count.requests -= 1
        count.bytes -= bytes
      }
      if (own.requests === 0) this.#byAddress.delete(address)
    }
  }
}

function hasRoom({ requests, bytes }: InFlight, most: Readonly<InFlight>, more: number): boolean {
  return requests < most.requests && bytes + more <= most.bytes
}
