import { createHash } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { extname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { Problem } from '../contract.ts'
import { type Api, addRoutes, problemOf } from './api.ts'
import { Guard, type Refusal, Session } from './guard.ts'
import { type StreamSource, Streams } from './streams.ts'

/** Whom a server is for. */
export type Audience =
  /** The user of this machine, by a one-time token. */
  | { readonly kind: 'user' }
  /** Everybody whom a proxy lets through, which asks under this name. */
  | { readonly kind: 'proxy'; readonly host: string }

interface Options {
  readonly port: number
  readonly audience: Audience
  readonly files: ReadonlyMap<string, PageFile>
  readonly source: StreamSource
  readonly api: Api
}

export interface UiServer {
  readonly port: number
  /** What the user opens; it works once, where there is a token. */
  readonly link: string
  readonly streams: Streams
  close(): Promise<void>
}

const mostConnections = 64
const mostStreams = 16
/** Time in which a request has to be here as a whole, and after which a connection without traffic is closed. */
const limits = { requestTimeout: 10_000, keepAliveTimeout: 10_000, connectionTimeout: 60_000 } as const
const mostBodyBytes = 16_384
const longestName = 253

/** What browsers are told of every answer: nothing of others' is loaded, run, framed, kept or read across sites. */
const headers = {
  'content-security-policy':
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

/** Serves the page and its data. Errors: the port cannot be listened on. */
export async function startServer({ port, audience, files, source, api }: Options): Promise<UiServer> {
  const app = fastify({
    ...limits,
    bodyLimit: mostBodyBytes,
    forceCloseConnections: true,
    // A stream has no end that HEAD could wait for.
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: longestName },
  })
  app.server.maxConnections = mostConnections
  const streams = new Streams(source, { most: mostStreams })
  const own = { session: undefined as Session | undefined, guard: new Guard([]) }
  addGuard(app, () => own.guard)
  app.setErrorHandler((error, _request, reply) => {
    const { status, message } = problemOf(error)
    return reply.code(status).send({ message } satisfies Problem)
  })
  app.get('/healthz', () => 'ok')
  app.get('/api/stream', (_request, reply) => openStream(reply, streams))
  addRoutes(app, api)
  app.get('/', (request, reply) => {
    const { token } = request.query as { readonly token?: unknown }
    return token === undefined ? sendFile(request, reply, files) : exchange(reply, token, own.session)
  })
  app.get('/*', (request, reply) => sendFile(request, reply, files))
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ message: 'there is nothing here' }))
  await app.listen({ port, host: audience.kind === 'user' ? '127.0.0.1' : '0.0.0.0' })
  const { port: actual } = app.server.address() as AddressInfo
  if (audience.kind === 'user') own.session = new Session(actual)
  own.guard = new Guard(namesOf(audience, actual), own.session)
  const link =
    audience.kind === 'proxy'
      ? `https://${audience.host}/`
      : `http://127.0.0.1:${actual}/?token=${own.session?.token ?? ''}`
  return {
    port: actual,
    link,
    streams,
    close: async () => {
      streams.close('joiner ui was ended; run it again')
      await app.close()
    },
  }
}

function namesOf(audience: Audience, port: number): readonly string[] {
  return audience.kind === 'proxy'
    ? [audience.host.toLowerCase()]
    : ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${port}`)
}

/** Routes without a session: the kubelet's probe, which asks by the pod's address, the exchange of the token, and the files of the page. */
const openRoutes: ReadonlySet<string | undefined> = new Set(['/healthz', '/', '/*'])

function addGuard(app: FastifyInstance, guard: () => Guard): void {
  app.addHook('onRequest', async (request, reply) => {
    // On the answer itself, since streams are written without the library.
    for (const [name, value] of Object.entries(headers)) reply.raw.setHeader(name, value)
    reply.raw.setHeader('cache-control', 'no-store')
    const refusal = refusalOf(guard(), request)
    if (refusal === undefined) return undefined
    return reply.code(refusal.status).send({ message: refusal.message } satisfies Problem)
  })
}

/** Judges the route that the router found, not the text of the request. What is no route needs the session too. */
function refusalOf(guard: Guard, request: FastifyRequest): Refusal | undefined {
  const { method } = request
  const route = request.routeOptions.url
  const refusal = guard.targetRefusal(request.url) ?? (route === '/healthz' ? undefined : guard.refusal(request))
  if (refusal !== undefined || openRoutes.has(route)) return refusal
  const isReading = method === 'GET' || method === 'HEAD'
  return (
    guard.dataRefusal(request) ?? (isReading ? undefined : (guard.postRefusal(request) ?? guard.actionRefusal(request)))
  )
}

function exchange(reply: FastifyReply, token: unknown, session: Session | undefined): FastifyReply {
  const cookie = typeof token === 'string' ? session?.exchange(token) : undefined
  if (session !== undefined && cookie === undefined)
    return reply
      .code(401)
      .type('text/plain; charset=utf-8')
      .send('This link was used already, or is that of another run. Run joiner ui again for a new one.\n')
  if (cookie !== undefined) reply.header('set-cookie', cookie)
  return reply.redirect('/', 303)
}

/** What is answered, and said at the start, where there is no page. */
export const notBuilt =
  'The page is not built. In a checkout run: npm run build-ui; images and npm packages of Joiner contain it. The data is at /api/cluster.\n'

function sendFile(request: FastifyRequest, reply: FastifyReply, files: ReadonlyMap<string, PageFile>): FastifyReply {
  const [path = ''] = request.url.split('?')
  const file = files.get(path)
  if (file === undefined && path === '/') return reply.code(503).type('text/plain; charset=utf-8').send(notBuilt)
  if (file === undefined) return reply.callNotFound() as unknown as FastifyReply
  reply.header('cache-control', 'no-cache').header('etag', file.etag)
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
  return reply.type(file.type).send(file.bytes)
}

function openStream(reply: FastifyReply, streams: Streams): FastifyReply {
  if (streams.isFull)
    return reply
      .code(503)
      .header('retry-after', '10')
      .send({ message: `${mostStreams} pages are open, and no more can be; close one` } satisfies Problem)
  reply.hijack()
  // Proxies pass on what they have, and do not wait for more.
  reply.raw.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
  reply.raw.flushHeaders()
  streams.add(reply.raw)
  return reply
}

/** A file of the page. */
export interface PageFile {
  readonly type: string
  readonly bytes: Buffer
  readonly etag: string
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
}

const pageFolder = fileURLToPath(new URL('../dist/', import.meta.url))

/**
 * Reads the built page into memory, by the path of each file in a URL: a request names a key of this map, and never a path of the machine. Files of
 * other types, such as source maps, are left out. Empty where the page was not built.
 */
export async function readPage(folder = pageFolder): Promise<ReadonlyMap<string, PageFile>> {
  const files = new Map<string, PageFile>()
  for (const entry of await entriesOf(folder)) {
    const type = types[extname(entry.name)]
    if (!entry.isFile() || type === undefined) continue
    const path = join(entry.parentPath, entry.name)
    const bytes = await readFile(path)
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
    files.set(`/${relative(folder, path).split(sep).join('/')}`, { type, bytes, etag })
  }
  const index = files.get('/index.html')
  if (index !== undefined) files.set('/', index)
  return files
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { recursive: true, withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
