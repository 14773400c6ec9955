import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline as whenPiped } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { type FastifyReply, fastify } from 'fastify'
import type { Logger } from 'pino'
import { register } from 'prom-client'
import { ConnectionLimit } from './connection-limit.ts'

export interface HealthChecks {
  /** Reasons why this process cannot do its work now; empty when it can. */
  readonly notReady: () => readonly string[]
  /** What `/metrics` answers, in Prometheus' text format. */
  readonly metrics: () => AsyncIterable<string>
  /** A second port with the same answers, for clusters whose scrapes expect another one than their probes. */
  readonly secondPort?: number | undefined
}

export interface HealthServer {
  readonly address: string
  readonly secondPort?: number
  close(): Promise<void>
}

/** Answers of `/metrics` that are being read at a time: Prometheus, a second one, and some room. */
const mostScrapes = 8
/** How long a client may take to read one. */
const scrapeMs = 60_000
const mostConnections = 256
const host = '0.0.0.0'
const limits = { requestTimeout: 5000, keepAliveTimeout: 10_000 } as const

/**
 * Serves `/healthz` (the process runs), `/readyz` (caches are synced and Temporal is reached, else 503 with the reasons) and `/metrics`.
 * It listens before anything else is up, so that a process that waits for Temporal can say so. Whoever reaches the port can neither have several
 * scrapes computed at once nor keep the kubelet from asking.
 */
export async function startHealthServer(port: number, checks: HealthChecks): Promise<HealthServer> {
  const { notReady, metrics, secondPort } = checks
  const app = fastify({ ...limits, connectionTimeout: scrapeMs, bodyLimit: 1024, forceCloseConnections: true })
  const connections = new ConnectionLimit(mostConnections)
  app.server.on('connection', (socket: Socket) => connections.add(socket))
  app.get('/healthz', () => 'ok')
  app.get('/readyz', (_request, reply) => {
    const reasons = notReady()
    return reply.code(reasons.length === 0 ? 200 : 503).send(reasons.length === 0 ? 'ok' : reasons.join('\n'))
  })
  const scrape = new SharedScrape(metrics, () => performance.now())
  let scrapes = 0
  app.get('/metrics', async (request, reply) => {
    if (scrapes >= mostScrapes) return reply.code(503).header('retry-after', '1').send('too many scrapes at once')
    scrapes += 1
    const timer = setTimeout(() => reply.raw.destroy(), scrapeMs)
    reply.raw.once('close', () => {
      scrapes -= 1
      clearTimeout(timer)
    })
    return sendScrape(reply, await scrape.gzipped(), request.headers['accept-encoding']?.includes('gzip') === true)
  })
  const address = await app.listen({ port, host })
  if (secondPort === undefined) return { address, close: () => app.close() }
  const second = createServer(limits, (incoming, response) => app.routing(incoming, response))
  second.setTimeout(scrapeMs)
  second.on('connection', (socket: Socket) => connections.add(socket))
  await once(second.listen(secondPort, host), 'listening').catch(async (error: unknown) => {
    await app.close()
    throw error
  })
  return {
    address,
    secondPort: (second.address() as AddressInfo).port,
    close: async () => {
      second.close()
      second.closeAllConnections()
      await app.close()
    },
  }
}

function sendScrape(reply: FastifyReply, gzipped: Buffer, takesGzip: boolean): FastifyReply {
  reply.type(register.contentType)
  if (takesGzip) return reply.header('content-encoding', 'gzip').send(gzipped)
  return reply.send(pipeline(Readable.from([gzipped]), createGunzip(), () => {}))
}

/** Closes the server at the end of a process. */
export async function closeQuietly(health: HealthServer, log: Logger): Promise<void> {
  await health.close().catch((error: unknown) => log.debug({ err: error }, 'health server was already closed'))
}

/**
 * What `/metrics` answers, computed once for all who ask at a time. Who asks soon after gets the same, for as long as it took to compute: whoever
 * asks without end takes half of a processor at most. It is kept compressed, a twentieth of its size, so that a client that reads slowly holds little.
 */
export class SharedScrape {
  readonly #metrics: () => AsyncIterable<string>
  readonly #now: () => number
  #scrape: Promise<Buffer> | undefined
  #isFreshUntilMs = Number.NEGATIVE_INFINITY

  /** `now`: milliseconds of a clock that is not set. */
  constructor(metrics: () => AsyncIterable<string>, now: () => number) {
    this.#metrics = metrics
    this.#now = now
  }

  /** The text of all metrics, by gzip. Errors: those of the metrics; whoever asks next starts again. */
  gzipped(): Promise<Buffer> {
    const begunAtMs = this.#now()
    if (this.#scrape === undefined || begunAtMs > this.#isFreshUntilMs) {
      this.#isFreshUntilMs = Number.POSITIVE_INFINITY
      const scrape = compressed(this.#metrics()).finally(() => {
        this.#isFreshUntilMs = 2 * this.#now() - begunAtMs
      })
      scrape.catch(() => {
        if (this.#scrape === scrape) this.#scrape = undefined
      })
      this.#scrape = scrape
    }
    return this.#scrape
  }
}

async function compressed(text: AsyncIterable<string>): Promise<Buffer> {
  // Hundreds of thousands of series are alike: little of the time and most of the size goes.
  const gzip = createGzip({ level: 1 })
  const [, bytes] = await Promise.all([whenPiped(Readable.from(text, { objectMode: false }), gzip), buffer(gzip)])
  return bytes
}
