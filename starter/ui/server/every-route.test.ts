import { connect } from 'node:net'
import type { RouteOptions } from 'fastify'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ClusterView } from '../contract.ts'
import type { Api } from './api.ts'
import type { UiServer } from './server.ts'

// Every route that the server has, as it registers them.
const registered: { readonly method: string; readonly url: string }[] = []
let startServer: typeof import('./server.ts').startServer

// Other suites share this process, and may have loaded the server before.
beforeAll(async () => {
  vi.resetModules()
  vi.doMock('fastify', async (original) => {
    const library = await original<typeof import('fastify')>()
    return {
      ...library,
      fastify: (options: object) => {
        const app = library.fastify(options)
        app.addHook('onRoute', ({ method, url }: RouteOptions) => {
          for (const each of [method].flat()) registered.push({ method: each, url })
        })
        return app
      },
    }
  })
  ;({ startServer } = await import('./server.ts'))
})

afterAll(() => {
  vi.doUnmock('fastify')
  vi.resetModules()
})

const secret = 'data of the cluster'
const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND']
const open = ['/', '/*', '/healthz']
const body = '{"kind":"pause","loop":"provisioning","reason":"x"}'

let called: string[] = []
const answer = (name: string) => async () => {
  called.push(name)
  return { secret } as never
}
const api: Api = {
  session: () => ({ cluster: secret, version: '1', isReadOnly: false }),
  cluster: () => ({ secret }) as unknown as ClusterView,
  node: answer('node'),
  decisions: answer('decisions'),
  cost: answer('cost'),
  calendar: answer('calendar'),
  plan: answer('plan'),
  act: answer('act'),
}

let server: UiServer
let cookie: string

beforeEach(async () => {
  called = []
  registered.length = 0
  const page = { type: 'text/html', bytes: Buffer.from('page'), etag: '"1"' }
  const files = new Map([
    ['/', page],
    ['/assets/page.js', page],
  ])
  const source = { view: () => ({ secret }) as unknown as ClusterView, missing: () => [] }
  server = await startServer({ port: 0, audience: { kind: 'user' }, files, source, api })
  const exchanged = await send('GET', new URL(server.link).search.replace(/^/, '/'))
  cookie = /set-cookie: ([^;]+)/i.exec(exchanged)?.[1] ?? ''
})

afterEach(() => server.close())

/** Sends these bytes of a request line. Returns the whole answer, or as much of a stream as comes first. */
function send(method: string, target: string, headers: readonly string[] = []): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = connect(server.port, '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    text += chunk
    if (/content-type: text\/event-stream/i.test(text) && text.includes(secret)) socket.destroy()
  })
  socket.on('close', () => resolve(text))
  socket.on('error', reject)
  const sent = method === 'GET' || method === 'HEAD' ? '' : body
  const all = [
    `Host: 127.0.0.1:${server.port}`,
    'Connection: close',
    ...(sent === '' ? [] : ['Content-Type: application/json', `Content-Length: ${sent.length}`]),
    ...headers,
  ]
  socket.write(`${method} ${target} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n${sent}`, 'latin1')
  return promise
}

const statusOf = (text: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1])
const own = () => [`Origin: http://127.0.0.1:${server.port}`, 'X-Joiner-Action: 1']

/** A request path of a route. */
const pathOf = (url: string) => url.replace(/:\w+/, 'general-1').replace('*', 'assets/page.js')
/** The paths of all routes, and one that is none. */
const paths = () => [...new Set(registered.map(({ url }) => pathOf(url))), '/api/other', '/api']

const encoded = (character: string) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`
/** Other spellings of a path, which a router, a proxy or a file system may take for the same. */
const spellings: Readonly<Record<string, (path: string) => string>> = {
  'first character encoded': (path) => path.replace(/^\/(.)/, (_, first: string) => `/${encoded(first)}`),
  'first character encoded in capitals': (path) =>
    path.replace(/^\/(.)/, (_, first: string) => `/${encoded(first).toUpperCase()}`),
  'last character encoded': (path) => path.replace(/.$/, encoded),
  'all encoded': (path) => `/${path.slice(1).replaceAll(/./g, encoded)}`,
  'encoded twice': (path) => path.replace(/^\/(.)/, (_, first: string) => `/%25${encoded(first).slice(1)}`),
  'slashes encoded': (path) => `/${path.slice(1).replaceAll('/', '%2f')}%2F`,
  'leading slash encoded': (path) => `%2f${path.slice(1)}`,
  'a slash more at the start': (path) => `/${path}`,
  'a slash more at the end': (path) => `${path}//`,
  'slashes doubled': (path) => path.replaceAll('/', '//'),
  'a segment of one dot': (path) => `/.${path}`,
  'a segment of two dots': (path) => `/x/..${path}`,
  'an encoded segment of two dots': (path) => `/x/%2e%2E${path}`,
  'two dots after it': (path) => `${path}/..`,
  'a backslash': (path) => `\\${path.slice(1)}`,
  'backslashes for slashes': (path) => `/${path.slice(1).replaceAll('/', '\\')}\\`,
  'a parameter of the path': (path) => `${path};x=1`,
  'a fragment': (path) => `${path}#x`,
  'an encoded null': (path) => `${path}%00`,
  'an encoded line end': (path) => `${path}%0d%0a`,
  'an overlong encoding': (path) => path.replace(/^\//, '/%c0%af'),
  'a broken encoding': (path) => `${path}%`,
  'an encoded question mark': (path) => `${path}%3Fx`,
  'a byte above ASCII': (path) => `${path}\xe1`,
  'absolute form': (path) => `http://127.0.0.1:${server.port}${path}`,
  'absolute form of another host': (path) => `http://evil.example${path}`,
  'absolute form in capitals': (path) => `HTTP://127.0.0.1${path}`,
  'another scheme': (path) => `https://127.0.0.1${path}`,
  'without a slash': (path) => path.slice(1) || 'x',
}

/** The spellings of the paths of all routes that are no path of a route. */
const spelled = (spell: (path: string) => string) => {
  const known = paths()
  return known.map(spell).filter((path) => !known.includes(path))
}

test('the routes are those that this test knows to be open, and others', () => {
  const urls = registered.map(({ url }) => url)
  expect(urls.filter((url) => open.includes(url)).sort()).toEqual([...open].sort())
  expect(urls).toContain('/api/actions')
  expect(registered.length).toBeGreaterThan(10)
})

describe('without the session', () => {
  test('no method gets anything of any route but the open ones', async () => {
    for (const path of paths().filter((each) => !open.map(pathOf).includes(each)))
      for (const method of methods) {
        const text = await send(method, path, own())
        // What no route has for GET is looked for among the files of the page.
        const isFile =
          method === 'GET' && !registered.some((each) => each.method === 'GET' && pathOf(each.url) === path)
        expect([statusOf(text), text.includes(secret)], `${method} ${path}`).toEqual([isFile ? 404 : 401, false])
      }
    expect(called).toEqual([])
  })

  test('open routes answer GET alone', async () => {
    for (const path of open.map(pathOf))
      for (const method of methods) {
        const text = await send(method, path, own())
        expect([statusOf(text), text.includes(secret)], `${method} ${path}`).toEqual([
          method === 'GET' ? 200 : 401,
          false,
        ])
      }
  })

  test.each(Object.entries(spellings))('%s gets nothing', async (_, spell) => {
    for (const path of spelled(spell))
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) {
        const text = await send(method, path, own())
        expect([statusOf(text), text.includes(secret)], `${method} ${path}`).toEqual([400, false])
      }
    expect(called).toEqual([])
  })

  test('a form that is no path of a route gets nothing', async () => {
    for (const [method, target] of [
      ['OPTIONS', '*'],
      ['GET', '*'],
      ['CONNECT', `127.0.0.1:${server.port}`],
      ['GET', '?x=/api/cluster'],
    ] as const) {
      const text = await send(method, target)
      expect([statusOf(text) || 400, text.includes(secret)], `${method} ${target}`).toEqual([400, false])
    }
    expect(called).toEqual([])
  })
})

describe('with the session', () => {
  test('every route answers, and what acts needs the Origin and the header', async () => {
    for (const { method, url } of registered) {
      const isReading = method === 'GET'
      const headers = [`Cookie: ${cookie}`, ...(isReading ? [] : own())]
      const text = await send(method, pathOf(url), headers)
      expect(statusOf(text), `${method} ${url}`).toBe(200)
      if (isReading) continue
      for (const left of [[], own().slice(0, 1), own().slice(1)]) {
        const refused = await send(method, pathOf(url), [`Cookie: ${cookie}`, ...left])
        expect(statusOf(refused), `${method} ${url} with ${left.join()}`).toBe(403)
      }
    }
    expect(called.filter((name) => name === 'act')).toHaveLength(1)
  })

  test('other spellings are no route either', async () => {
    for (const spell of Object.values(spellings))
      for (const path of spelled(spell)) {
        const text = await send('GET', path, [`Cookie: ${cookie}`])
        expect([statusOf(text), text.includes(secret)], path).toEqual([400, false])
      }
    expect(called).toEqual([])
  })
})
