import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { type IncomingHttpHeaders, type IncomingMessage, request as send } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { CommandError } from '../../document/reported-error.ts'
import { LackingError } from '../../picture/missing.ts'
import type { ActionRequest, ClusterView } from '../contract.ts'
import { type Api, RouteError } from './api.ts'
import { type Audience, readPage, startServer, type UiServer } from './server.ts'

const totals = {
  nodes: 0,
  pricePerHour: 0,
  unpriced: 0,
  phases: {},
  allocatable: { cpu: 0, memory: 0 },
  requested: { cpu: 0, memory: 0 },
}
const view: ClusterView = {
  atMs: 1,
  totals: { ...totals, pods: 0, pending: 0 },
  pools: [],
  nodes: [],
  pending: [],
  missing: [],
  damaged: [],
  unlisted: [],
}

let folder: string
let acted: ActionRequest[] = []
const open: UiServer[] = []

const missing = [
  { what: 'nodepools', why: 'no right\u001b[31m', remedy: 'ask', isForbidden: true },
  { what: 'nodes', why: 'no answer', remedy: 'look' },
] as const

const api: Api = {
  session: () => ({ cluster: 'test', version: '1', isReadOnly: false }),
  cluster: () => view,
  node: async (key) => {
    if (key === 'unread') throw new LackingError(missing)
    throw key === 'away' ? new RouteError(404, 'it is gone') : new Error('a bug\u001b[31m')
  },
  decisions: async () => {
    throw new CommandError('Temporal does not answer')
  },
  cost: async (days) => ({
    notes: [`${days}`],
    hours: [],
    byNodePool: [],
    byNamespace: [],
    total: 0,
    saved: 0,
  }),
  calendar: async () => ({ fromMs: 0, toMs: 1, pools: [], pauses: [] }),
  plan: async () => ({ id: '01234567', text: [], commands: [], before: 0, after: 0 }),
  act: async (request) => {
    acted.push(request)
    return { isDone: true, message: 'done' }
  },
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ui-server-'))
  await mkdir(join(folder, 'dist', 'assets'), { recursive: true })
  await writeFile(join(folder, 'dist', 'index.html'), '<!doctype html>page')
  await writeFile(join(folder, 'dist', 'assets', 'page.js'), 'run()')
  await writeFile(join(folder, 'dist', 'assets', 'page.js.map'), 'map')
  await writeFile(join(folder, 'secret.txt'), 'secret')
  await symlink(join(folder, 'secret.txt'), join(folder, 'dist', 'link.txt'))
})

afterEach(async () => {
  acted = []
  for (const server of open.splice(0)) await server.close()
})

afterAll(() => rm(folder, { recursive: true, force: true }))

async function start(audience: Audience = { kind: 'user' }, dist = 'dist'): Promise<UiServer> {
  const files = await readPage(join(folder, dist))
  const source = { view: () => view, missing: () => ['prices'] }
  const server = await startServer({ port: 0, audience, files, source, api })
  open.push(server)
  return server
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

function sendTo({ port }: UiServer, path: string, sent: Sent, onAnswer: (answer: IncomingMessage) => void) {
  const { method = 'GET', headers = {}, body } = sent
  const asked = send({ port, host: '127.0.0.1', path, method, headers }, onAnswer)
  asked.end(body)
  return asked
}

function ask(server: UiServer, path: string, sent: Sent = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    sendTo(server, path, sent, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          text: Buffer.concat(chunks).toString('utf8'),
        }),
      )
    }).on('error', reject)
  })
}

/** Exchanges the token. Returns the header Cookie of the session. */
async function logIn(server: UiServer): Promise<string> {
  const { headers } = await ask(server, new URL(server.link).search.replace(/^/, '/'))
  const [cookie = ''] = headers['set-cookie']?.[0]?.split(';') ?? []
  return cookie
}

const own = (server: UiServer) => `http://127.0.0.1:${server.port}`

test('the token is exchanged once, for a cookie that no script and no other site has', async () => {
  const server = await start()
  const path = `/${new URL(server.link).search}`
  const wrong = await ask(server, '/?token=guessed')
  expect([wrong.status, wrong.headers['set-cookie']]).toEqual([401, undefined])
  const first = await ask(server, path)
  expect([first.status, first.headers.location]).toEqual([303, '/'])
  expect(first.headers['set-cookie']?.[0]).toMatch(
    new RegExp(`^joiner-ui-${server.port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`),
  )
  const second = await ask(server, path)
  expect([second.status, second.headers['set-cookie']]).toEqual([401, undefined])
  expect(second.text).toContain('Run joiner ui again')
})

test('data is for the session alone; nothing keeps it', async () => {
  const server = await start()
  const before = await ask(server, '/api/cluster', { headers: { cookie: `joiner-ui-${server.port}=` } })
  expect([before.status, JSON.parse(before.text)]).toEqual([
    401,
    { message: expect.stringContaining('open the link that joiner ui printed') },
  ])
  const cookie = await logIn(server)
  const after = await ask(server, '/api/cluster', { headers: { cookie: `other=1; ${cookie}` } })
  expect([after.status, JSON.parse(after.text)]).toEqual([200, view])
  expect(after.headers['cache-control']).toBe('no-store')
  expect(after.headers['access-control-allow-origin']).toBeUndefined()
  const other = await ask(server, '/api/cluster', { headers: { cookie: `${cookie}x` } })
  expect(other.status).toBe(401)
})

test('another Host or Origin is refused, also with the session', async () => {
  const server = await start()
  const cookie = await logIn(server)
  const with_ = (headers: Readonly<Record<string, string>>, path = '/api/cluster') =>
    ask(server, path, { headers: { cookie, ...headers } })
  expect((await with_({ host: `evil.example:${server.port}` })).status).toBe(421)
  expect((await with_({ host: 'evil.example' }, '/')).status).toBe(421)
  expect((await with_({ host: `127.0.0.1:${server.port + 1}` })).status).toBe(421)
  expect((await with_({ host: `LOCALHOST:${server.port}` })).status).toBe(200)
  expect((await with_({ origin: 'http://evil.example' })).status).toBe(403)
  expect((await with_({ origin: 'null' })).status).toBe(403)
  expect((await with_({ origin: `http://127.0.0.1:${server.port}.evil.example` })).status).toBe(403)
  expect((await with_({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' })).status).toBe(403)
  expect((await with_({ origin: own(server) })).status).toBe(200)
})

test('actions need the session, the Origin and the header, and are read with care', async () => {
  const server = await start()
  const cookie = await logIn(server)
  const good = { cookie, origin: own(server), 'x-joiner-action': '1', 'content-type': 'application/json' }
  const body = JSON.stringify({ kind: 'hold', key: 'general-1', reason: 'looked at', forMs: 60_000 })
  const without = (...names: readonly (keyof typeof good)[]) =>
    ask(server, '/api/actions', {
      method: 'POST',
      headers: Object.fromEntries(Object.entries(good).filter(([name]) => !names.includes(name as keyof typeof good))),
      body,
    })
  expect((await without('cookie')).status).toBe(401)
  expect((await without('origin')).status).toBe(403)
  expect((await without('x-joiner-action')).status).toBe(403)
  expect((await without('content-type')).status).toBe(415)
  const plan = await ask(server, '/api/plan', { method: 'POST', headers: { cookie } })
  expect(plan.status).toBe(403)
  expect(acted).toEqual([])
  expect((await without()).status).toBe(200)
  expect(acted).toEqual([JSON.parse(body)])
  const bad = async (value: unknown) =>
    ask(server, '/api/actions', { method: 'POST', headers: good, body: JSON.stringify(value) })
  for (const value of [
    null,
    [],
    { kind: 'explode' },
    { kind: 'hold', key: '../x', reason: 'x' },
    { kind: 'hold', key: 'a', reason: ' ' },
    { kind: 'hold', key: 'a', reason: 'x', forMs: -1 },
    { kind: 'pause', loop: 'disruption', reason: 'x', by: 'root' },
    { kind: 'apply', plan: 'x' },
  ]) {
    const { status, text } = await bad(value)
    expect([status, text], JSON.stringify(value)).toEqual([400, expect.stringContaining('the action cannot be read')])
  }
  const large = await bad({ kind: 'hold', key: 'a', reason: 'x'.repeat(20_000) })
  expect(large.status).toBe(413)
  expect(acted).toHaveLength(1)
})

test('files are those of the page, and no others of the machine', async () => {
  const server = await start()
  const page = await ask(server, '/')
  expect([page.status, page.text, page.headers['content-type']]).toEqual([
    200,
    '<!doctype html>page',
    'text/html; charset=utf-8',
  ])
  expect(page.headers['content-security-policy']).toContain("default-src 'self'")
  expect(page.headers['x-content-type-options']).toBe('nosniff')
  const script = await ask(server, '/assets/page.js?v=1')
  expect([script.status, script.headers['content-type']]).toEqual([200, 'text/javascript; charset=utf-8'])
  const known = await ask(server, '/assets/page.js', { headers: { 'if-none-match': script.headers.etag ?? '' } })
  expect([known.status, known.text]).toEqual([304, ''])
  for (const path of ['/link.txt', '/assets/page.js.map', '/constructor', '/assets/']) {
    const { status, text } = await ask(server, path)
    expect([status, text], path).toEqual([404, '{"message":"there is nothing here"}'])
  }
  for (const path of [
    '/../secret.txt',
    '/assets/../../secret.txt',
    '/..%2fsecret.txt',
    '/%2e%2e/secret.txt',
    '//etc/passwd',
    '/assets\\..\\..\\secret.txt',
  ]) {
    const { status, text } = await ask(server, path)
    expect([status, text], path).toEqual([400, expect.stringContaining('the path is not in normal form')])
  }
})

test('without a built page the answer says how to build it', async () => {
  const server = await start({ kind: 'user' }, 'nowhere')
  const { status, text } = await ask(server, '/')
  expect([status, text]).toEqual([503, expect.stringContaining('The page is not built')])
})

test('errors are told with their remedy, and without what controls a terminal', async () => {
  const server = await start()
  const cookie = await logIn(server)
  const get = async (path: string) => {
    const { status, text } = await ask(server, path, { headers: { cookie } })
    return [status, (JSON.parse(text) as { message: string }).message]
  }
  expect(await get('/api/nodes/away')).toEqual([404, 'it is gone'])
  expect(await get('/api/nodes/odd')).toEqual([500, 'it could not be read: a bug\\u001b[31m'])
  expect(await get('/api/nodes/-secret')).toEqual([400, 'this is not the name of a Node or NodeClaim'])
  // Each reason is a line of its own.
  expect(await get('/api/nodes/unread')).toEqual([403, 'nodepools: no right\\u001b[31m; ask\nnodes: no answer; look'])
  expect(await get('/api/decisions')).toEqual([503, 'Temporal does not answer'])
  expect(await get('/api/cost?days=0')).toEqual([400, 'days: use a whole number from 1 to 92'])
  expect(await get('/api/cost?days=1&days=2')).toEqual([400, 'days: use a whole number from 1 to 92'])
  const cost = await ask(server, '/api/cost?days=30', { headers: { cookie } })
  expect(JSON.parse(cost.text)).toMatchObject({ notes: ['30'] })
})

test('behind a proxy no token is asked for, and the name has to be that of the proxy', async () => {
  const server = await start({ kind: 'proxy', host: 'joiner.example.com' })
  expect(server.link).toBe('https://joiner.example.com/')
  const as = (host: string, path = '/api/cluster') => ask(server, path, { headers: { host } })
  expect((await as('joiner.example.com')).status).toBe(200)
  expect((await as(`127.0.0.1:${server.port}`)).status).toBe(421)
  const probe = await as(`10.0.0.7:${server.port}`, '/healthz')
  expect([probe.status, probe.text]).toEqual([200, 'ok'])
})

test('a stream begins with the view, says when the server ends, and their number is limited', async () => {
  const server = await start()
  const cookie = await logIn(server)
  const refused = await ask(server, '/api/stream')
  expect(refused.status).toBe(401)
  const stream = () => {
    const texts: string[] = []
    const headers = new Promise<IncomingHttpHeaders>((resolve, reject) => {
      sendTo(server, '/api/stream', { headers: { cookie } }, (answer) => {
        answer.on('data', (chunk: Buffer) => texts.push(chunk.toString('utf8')))
        resolve(answer.headers)
      }).on('error', reject)
    })
    return { texts, headers }
  }
  const streams = Array.from({ length: 16 }, stream)
  const answers = await Promise.all(streams.map((each) => each.headers))
  expect(answers[0]).toMatchObject({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  expect(answers[0]?.['content-security-policy']).toContain("default-src 'self'")
  const seventeenth = await ask(server, '/api/stream', { headers: { cookie } })
  expect([seventeenth.status, seventeenth.text]).toEqual([503, expect.stringContaining('16 pages are open')])
  server.streams.beat()
  await expect
    .poll(() => streams.map(({ texts }) => texts.join('').match(/event: \w+/g)))
    .toEqual(streams.map(() => ['event: cluster', 'event: missing', 'event: beat']))
  await server.close()
  await expect.poll(() => streams[3]?.texts.join('')).toContain('event: end\ndata: {"message":"joiner ui was ended')
})

test('a request that never ends keeps the server from its end no longer than others', async () => {
  const server = await start()
  const socket = connect(server.port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write('GET /api/cluster HTTP/1.1\r\nHost: x\r\n')
  const ended = new Promise((resolve) => socket.once('close', resolve))
  await server.close()
  await ended
  expect(socket.destroyed).toBe(true)
})
