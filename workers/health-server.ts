import { fastify } from 'fastify'
import { register } from 'prom-client'

export interface HealthChecks {
  /** Reasons why this process cannot do its work now; empty when it can. */
  readonly notReady: () => readonly string[]
}

export interface HealthServer {
  readonly address: string
  close(): Promise<void>
}

/**
 * Serves `/healthz` (the process runs), `/readyz` (caches are synced and Temporal is reached, else 503 with the reasons) and `/metrics`.
 * It listens before anything else is up, so that a process that waits for Temporal can say so.
 */
export async function startHealthServer(port: number, { notReady }: HealthChecks): Promise<HealthServer> {
  const app = fastify()
  app.get('/healthz', () => 'ok')
  app.get('/readyz', (_request, reply) => {
    const reasons = notReady()
    return reply.code(reasons.length === 0 ? 200 : 503).send(reasons.length === 0 ? 'ok' : reasons.join('\n'))
  })
  app.get('/metrics', async (_request, reply) => reply.type(register.contentType).send(await register.metrics()))
  const address = await app.listen({ port, host: '0.0.0.0' })
  return { address, close: () => app.close() }
}
