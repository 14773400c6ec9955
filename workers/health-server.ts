import { pipeline, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { fastify } from 'fastify'
import type { Logger } from 'pino'
import { register } from 'prom-client'

export interface HealthChecks {
  /** Reasons why this process cannot do its work now; empty when it can. */
  readonly notReady: () => readonly string[]
  /** What `/metrics` answers, in Prometheus' text format. */
  readonly metrics: () => AsyncIterable<string>
}

export interface HealthServer {
  readonly address: string
  close(): Promise<void>
}

/**
 * Serves `/healthz` (the process runs), `/readyz` (caches are synced and Temporal is reached, else 503 with the reasons) and `/metrics`.
 * It listens before anything else is up, so that a process that waits for Temporal can say so.
 */
export async function startHealthServer(port: number, { notReady, metrics }: HealthChecks): Promise<HealthServer> {
  const app = fastify()
  app.get('/healthz', () => 'ok')
  app.get('/readyz', (_request, reply) => {
    const reasons = notReady()
    return reply.code(reasons.length === 0 ? 200 : 503).send(reasons.length === 0 ? 'ok' : reasons.join('\n'))
  })
  app.get('/metrics', (request, reply) => {
    reply.type(register.contentType)
    const text = Readable.from(metrics(), { objectMode: false })
    if (!request.headers['accept-encoding']?.includes('gzip')) return reply.send(text)
    // Hundreds of thousands of series are alike: little of the time and most of the size goes.
    reply.header('content-encoding', 'gzip')
    return reply.send(pipeline(text, createGzip({ level: 1 }), () => {}))
  })
  const address = await app.listen({ port, host: '0.0.0.0' })
  return { address, close: () => app.close() }
}

/** Closes the server at the end of a process. */
export async function closeQuietly(health: HealthServer, log: Logger): Promise<void> {
  await health.close().catch((error: unknown) => log.debug({ err: error }, 'the health server was closed already'))
}
