import { createServer, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Agent, DecoratorHandler, type Dispatcher } from 'undici'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Authority } from '../../../deploy/local/authority.ts'
import { KubernetesClient } from './client.ts'

const MiB = 2 ** 20
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  vi.useRealTimers()
  await Promise.all(closing.splice(0).map((close) => close()))
})

async function clientOf(server: Server, connect: () => Dispatcher = () => new Agent()): Promise<KubernetesClient> {
  return clientAt('http', server, connect)
}

async function clientAt(scheme: string, server: Server, connect: () => Dispatcher): Promise<KubernetesClient> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const client = new KubernetesClient({
    server: `${scheme}://127.0.0.1:${port}`,
    connect,
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
    const [from, limit] = [Number(query.get('continue') ?? 0), Number(query.get('limit') ?? sizes.length)]
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
    expect(resourceVersion).not.toBe('')
    pages.push(items.map(({ metadata }) => (metadata as { name: string }).name))
  }
  return pages
}

test("a certificate that is out of time names this machine's clock, which may be what is wrong", async () => {
  const ca = await Authority.create('CN=ca')
  const names = ['127.0.0.1']
  const issued = await ca.issue({
    subject: 'CN=api',
    usages: ['serverAuth'],
    names,
    notAfter: new Date(Date.now() - 1000),
  })
  const connect = () => new Agent({ connect: { ca: ca.cert } })
  const client = await clientAt(
    'https',
    createSecureServer(issued, (_, response) => response.end('{}')),
    connect,
  )
  await expect(client.get('/version')).rejects.toThrow(
    /^certificate has expired by this machine's clock, on 20.{8}; if that is wrong, set it by NTP: timedatectl/,
  )
})

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

test('a list as a whole may be larger than any answer', async () => {
  const client = await clientOf(
    listing(
      Array.from({ length: 70 }, () => MiB),
      () => {},
    ),
  )
  const { items, resourceVersion } = await client.list('/objects')
  expect(items.map(({ metadata }) => (metadata as { name: string }).name)).toEqual(
    Array.from({ length: 70 }, (_, at) => `object-${at}`),
  )
  expect(resourceVersion).toBe('7')
})

test('a list with a limit is one page, and selectors are asked for with each page', async () => {
  const asked: string[] = []
  const sizes = Array.from({ length: 1100 }, () => 1)
  const server = listing(sizes, () => {})
  server.on('request', ({ url }) => asked.push(url ?? ''))
  const client = await clientOf(server)
  const { items, continue: next } = await client.list('/objects', { limit: 2 })
  expect([items.length, next, asked.splice(0)]).toEqual([2, '2', ['/objects?limit=2']])
  expect((await client.list('/objects', { labelSelector: 'a=b' })).items).toHaveLength(1100)
  expect(asked).toEqual([
    '/objects?labelSelector=a%3Db&limit=500',
    '/objects?labelSelector=a%3Db&limit=500&continue=500',
    '/objects?labelSelector=a%3Db&limit=500&continue=1000',
  ])
})

test.each([
  ['metadata.uid: Invalid value: "b": field is immutable', 409],
  ['data: Invalid value: "b": must be text', 422],
])('a merge patch that the API server calls invalid for %s: %i', async (cause, code) => {
  const message = `ConfigMap "a" is invalid: ${cause}`
  const client = await clientOf(
    createServer((_, response) =>
      response
        .writeHead(422, { 'content-type': 'application/json' })
        .end(JSON.stringify({ kind: 'Status', reason: 'Invalid', code: 422, message })),
    ),
  )
  await expect(client.mergePatch('/objects/a', { metadata: { uid: 'b' } })).rejects.toMatchObject({ code })
})

test('events of a watch are read wherever their bytes are cut', async () => {
  const events = Array.from({ length: 20 }, (_, at) => ({
    type: 'MODIFIED',
    object: { metadata: { name: `pod-${at}`, resourceVersion: String(at) }, data: 'ü'.repeat(at * 1000) },
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

describe('an answer that is late', () => {
  /** Connections that say when the first piece of a body has come. */
  function noting(came: () => void): () => Dispatcher {
    return () =>
      new Agent().compose((dispatch) => (options, handler) => {
        const noted = new DecoratorHandler(handler) as Required<Dispatcher.DispatchHandler>
        const take = noted.onResponseData.bind(noted)
        noted.onResponseData = (...piece) => {
          take(...piece)
          came()
        }
        return dispatch(options, noted)
      })
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  const fakeTime = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const errorOf = (work: Promise<unknown>) =>
    work.then(
      () => 'none',
      (error: Error) => error.message,
    )

  test('with its headers ends the request after ten seconds, a watch after its idle limit', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>()
    let count = 0
    const client = await clientOf(
      createServer(() => {
        count += 1
        if (count === 2) resolve()
      }),
    )
    fakeTime()
    const { signal } = new AbortController()
    const read = errorOf(client.get('/api/v1/nodes/a'))
    const watched = errorOf(client.watch('/pods', { resourceVersion: '1', signal, idleMs: 75_000 }).next())
    await asked
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await read).toBe('GET /api/v1/nodes/a: no answer in 10 s')
    await vi.advanceTimersByTimeAsync(65_000)
    expect(await watched).toBe('no event and no bookmark for 75000 ms')
  })

  test.each([
    ['an object', (client: KubernetesClient) => client.get('/nodes/a')],
    ['a list', (client: KubernetesClient) => client.list('/nodes')],
    ['a page', (client: KubernetesClient) => client.listPages('/nodes').next()],
    ['an error', (client: KubernetesClient) => client.get('/nodes/error')],
  ] as const)('in the body of %s ends the request', async (_, ask) => {
    const { promise: came, resolve } = Promise.withResolvers<void>()
    const server = createServer((request, response) => {
      response.writeHead(request.url === '/nodes/error' ? 500 : 200, { 'content-type': 'application/json' })
      response.write('{"items":[')
    })
    const client = await clientOf(server, noting(resolve))
    fakeTime()
    const error = errorOf(ask(client))
    await came
    await settle()
    await vi.advanceTimersByTimeAsync(15_000)
    expect(await error).toContain('the body of the answer stalled for 15 s')
  })

  test.each([
    ['a byte of a line', ' '],
    ['an empty line', '\n'],
  ])('a watch that brings nothing but %s now and then has its idle limit', async (_, piece) => {
    let send: () => void = () => {}
    let came: () => void = () => {}
    const server = createServer((_request, response) => {
      send = () => void response.write(piece)
      send()
    })
    const client = await clientOf(
      server,
      noting(() => came()),
    )
    const next = () =>
      new Promise<void>((resolve) => {
        came = resolve
      })
    fakeTime()
    const { signal } = new AbortController()
    let first = next()
    let outcome = 'open'
    void errorOf(client.watch('/pods', { resourceVersion: '1', signal, idleMs: 5000 }).next()).then((error) => {
      outcome = error
    })
    for (let passed = 0; passed < 5000; passed += 500) {
      await first
      await settle()
      await vi.advanceTimersByTimeAsync(500)
      first = next()
      send()
    }
    await settle()
    expect(outcome).toBe('no event and no bookmark for 5000 ms')
  })
})

describe('an answer of 200 that is not what it promises', () => {
  test.each([
    ['a page of a portal', 'text/html', '<html>log in</html>', 'content type text/html: "<html>log in</html>"'],
    ['nothing', 'application/json', '', 'content type application/json: no body'],
    ['a text', 'application/json', '"a"', 'is not JSON'],
  ])('%s is a failure that says so', async (_, type, body, message) => {
    const server = createServer((_request, response) => response.writeHead(200, { 'content-type': type }).end(body))
    const client = await clientOf(server)
    await expect(client.get('/x')).rejects.toThrow(message)
    await expect(client.list('/x')).rejects.toThrow(message)
    await expect(client.listPages('/x').next()).rejects.toThrow(message)
  })

  test.each([
    ['an object', '{}'],
    ['a list without items', '{"metadata":{"resourceVersion":"1"},"items":null}'],
    ['a list without a version', '{"metadata":{},"items":[]}'],
  ])('%s is no empty list', async (_, body) => {
    const client = await clientOf(createServer((_request, response) => response.end(body)))
    await expect(client.list('/x')).rejects.toThrow('GET /x: the answer is no list')
    await expect(client.listPages('/x').next()).rejects.toThrow('GET /x: the answer is no list')
  })

  test.each([
    ['with themselves', 1, 2],
    ['round in a circle', 3, 4],
  ])('a list whose pages go on %s ends', async (_, length, pages) => {
    let asked = 0
    const client = await clientOf(
      createServer((_request, response) => {
        asked += 1
        response.end(`{"metadata":{"resourceVersion":"1","continue":"${asked % length}"},"items":[]}`)
      }),
    )
    await expect(read(client)).rejects.toThrow('a page continues with itself or with one before it')
    expect(asked).toBe(pages)
  })

  /** Sends a body that has no end. */
  function endless(): Server {
    return createServer((_request, response) => {
      const piece = ' '.repeat(MiB)
      const go = () => {
        while (!response.destroyed) if (!response.write(piece)) return void response.once('drain', go)
      }
      response.on('error', () => {})
      go()
    })
  }

  test('a line of a watch without an end is not kept', async () => {
    const client = await clientOf(endless())
    const { signal } = new AbortController()
    const events = client.watch('/x', { resourceVersion: '1', signal, idleMs: 60_000 })
    await expect(events.next()).rejects.toThrow('a line has more than 32 Mi characters')
  })

  test('an object without an end is not kept, nor is a page', async () => {
    const client = await clientOf(endless())
    await expect(client.get('/x')).rejects.toThrow('GET /x: the body of the answer has more than 64 MiB')
    await expect(client.listPages('/x').next()).rejects.toThrow('GET /x: one object has more than 64 MiB')
  })
})

test.each([
  [200, true],
  [404, true],
  [503, false],
])('of an answer with %i the date and the time of its request are told: %s', async (status, isTold) => {
  const told: (readonly [string | undefined, number])[] = []
  const server = createServer((_, response) => {
    response.writeHead(status, { date: 'Sat, 28 Nov 2026 12:00:00 GMT' })
    response.end('{}')
  })
  const plain = await clientOf(server)
  const serverTime = { answered: (date: string | undefined, sentMs: number) => void told.push([date, sentMs]) }
  const client = new KubernetesClient({ server: plain.server, connect: () => new Agent(), token: () => '', serverTime })
  closing.push(() => client.close())
  const beforeMs = performance.now()
  await client.get('/version').catch(() => undefined)
  expect(told.map(([date]) => date)).toEqual(isTold ? ['Sat, 28 Nov 2026 12:00:00 GMT'] : [])
  for (const [, sentMs] of told) {
    expect(sentMs).toBeGreaterThanOrEqual(beforeMs)
    expect(sentMs).toBeLessThanOrEqual(performance.now())
  }
})
