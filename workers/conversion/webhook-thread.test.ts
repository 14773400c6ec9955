import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, expect, it } from 'vitest'
import { makeCertificate } from './certificate-secret.ts'
import { webhookLimits } from './limits.ts'
import { WebhookThread } from './webhook-thread.ts'

const path = '/convert/0123456789abcdef'
const started: WebhookThread[] = []

afterEach(async () => {
  for (const thread of started.splice(0)) await thread.stop()
})

async function start(heapMiB: number) {
  const lines: string[] = []
  const registry = new Registry()
  let served = 0
  const thread = new WebhookThread({
    port: 0,
    log: pino({ base: null }, { write: (line) => void lines.push(line) }),
    onServing: () => served++,
    limits: { ...webhookLimits, heapMiB },
    registry,
  })
  started.push(thread)
  const certificate = await makeCertificate(['localhost'], new Date())
  thread.use({ certificate, path })
  await expect.poll(() => thread.port, { timeout: 10_000 }).toBeGreaterThan(0)
  const post = (body: string, to = path) =>
    new Promise<{ status: number; body: string }>((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port: thread.port,
        path: to,
        method: 'POST',
        ca: certificate.cert,
        agent: false,
      }
      const headers = { 'content-length': Buffer.byteLength(body), host: 'localhost' }
      request({ ...options, servername: 'localhost', headers }, (response) => {
        text(response).then((read) => resolve({ status: response.statusCode ?? 0, body: read }), reject)
      })
        .on('error', reject)
        .end(body)
    })
  return { thread, lines, registry, post, served: () => served }
}

const review = (objects: string) =>
  `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"karpenter.sh/v1","objects":[${objects}]}}`
const object = '{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"a"}}'

it('serves from a thread, and says what was asked of it', async () => {
  const { post, registry, served } = await start(webhookLimits.heapMiB)
  expect(await post(review(object))).toMatchObject({
    status: 200,
    body: expect.stringContaining('"Success"') as string,
  })
  expect((await post('{}', '/convert')).status).toBe(404)
  await expect
    .poll(() => registry.metrics(), { timeout: 10_000 })
    .toContain('joiner_conversion_requests_total{code="200"} 1')
  expect(await registry.metrics()).toContain('joiner_conversion_requests_total{code="404"} 1')
  expect(served()).toBe(1)
}, 20_000)

it('starts again when its memory is full, and the process goes on', async () => {
  const { post, registry, lines, thread, served } = await start(12)
  const before = process.memoryUsage.rss()
  // Within the limits of a request, and more than so small a heap holds. No single call of the engine takes more than the 16 MiB above its limit that
  // Node leaves a thread to end in: beyond them the process ends.
  await expect(post(review(Array(200_000).fill('{}').join(',')))).rejects.toThrow()
  await expect.poll(() => registry.metrics(), { timeout: 10_000 }).toContain('joiner_conversion_restarts_total 1')
  await expect.poll(() => post(review(object)).then(({ status }) => status, String), { timeout: 15_000 }).toBe(200)
  expect(lines.join('')).toContain('ERR_WORKER_OUT_OF_MEMORY')
  expect(process.memoryUsage.rss() - before).toBeLessThan(300 * 1024 * 1024)
  expect([served(), thread.port !== undefined]).toEqual([1, true])
}, 30_000)
