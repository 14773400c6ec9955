import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent } from 'undici'
import { afterEach, expect, test } from 'vitest'
import { KubernetesClient } from './client.ts'

const MiB = 2 ** 20
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

async function clientOf(server: Server): Promise<KubernetesClient> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const client = new KubernetesClient({
    server: `http://127.0.0.1:${port}`,
    connect: () => new Agent(),
    token: () => '',
  })
  closing.push(
    () => client.close(),
    () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  )
  return client
}

/** Serves objects of these sizes as lists with `limit` and `continue`; reports each request's limit and the bytes of its answer. */
function listing(sizes: readonly number[], asked: (limit: number, bytes: number) => void): Server {
  return createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://server').searchParams
    const [from, limit] = [Number(query.get('continue') ?? 0), Number(query.get('limit'))]
    const items = sizes.slice(from, from + limit).map((size, at) => ({
      metadata: { name: `object-${from + at}` },
      data: 'x'.repeat(size),
    }))
    const next = from + items.length
    const metadata = { resourceVersion: '7', ...(next < sizes.length ? { continue: String(next) } : {}) }
    const body = JSON.stringify({ metadata, items })
    asked(limit, body.length)
    response.on('error', () => {})
    response.end(body)
  })
}

async function read(client: KubernetesClient): Promise<readonly (readonly string[])[]> {
  const pages: string[][] = []
  for await (const { items, resourceVersion } of client.listPages('/objects')) {
    expect(resourceVersion).toBe('7')
    pages.push(items.map(({ metadata }) => (metadata as { name: string }).name))
  }
  return pages
}

test('a list of small objects is read 500 at a time', async () => {
  const limits: number[] = []
  const client = await clientOf(
    listing(
      Array.from({ length: 1100 }, () => 100),
      (limit) => limits.push(limit),
    ),
  )
  expect((await read(client)).map((page) => page.length)).toEqual([500, 500, 100])
  expect(limits).toEqual([500, 500, 500])
})

test('a list with large objects among small ones is read whole, with no page above 8 MiB', async () => {
  const sizes = Array.from({ length: 120 }, (_, at) => (at % 3 === 0 ? 1.4 * MiB : 200))
  const answers: { limit: number; bytes: number }[] = []
  const client = await clientOf(listing(sizes, (limit, bytes) => answers.push({ limit, bytes })))
  const pages = await read(client)
  expect(pages.flat()).toEqual(sizes.map((_, at) => `object-${at}`))
  const taken = answers.filter(({ bytes }) => bytes <= 8 * MiB)
  expect(taken.length).toBe(pages.length)
  // Most of what is sent is used: a page that is too large is not requested in the same size again.
  expect(answers.length).toBeLessThan(2 * pages.length)
})

test('an object that is larger than any page is read alone', async () => {
  const client = await clientOf(listing([10, 20 * MiB, 10], () => {}))
  expect((await read(client)).flat()).toEqual(['object-0', 'object-1', 'object-2'])
})

test('events of a watch are read wherever their bytes are cut', async () => {
  const events = Array.from({ length: 20 }, (_, at) => ({
    type: 'MODIFIED',
    object: { metadata: { name: `pod-${at}` }, data: 'ü'.repeat(at * 1000) },
  }))
  const bytes = Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join('\n'))
  const server = createServer((_, response) => {
    response.writeHead(200)
    for (let at = 0; at < bytes.length; at += 777) response.write(bytes.subarray(at, at + 777))
    response.end()
  })
  const client = await clientOf(server)
  const options = { resourceVersion: '1', signal: new AbortController().signal, idleMs: 60_000 }
  const seen: unknown[] = []
  for await (const { type, object } of client.watch('/pods', options)) seen.push({ type, object })
  expect(seen).toEqual(events)
})
