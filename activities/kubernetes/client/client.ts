import { Agent, type Dispatcher, ProxyAgent, request } from 'undici'
import { type BodyLimits, bodyLimits, mostBodyBytes, piecesOf, readAtMost, readWhole } from '../../limited-body.ts'
import { type Admission, admitted } from './admission.ts'
import {
  apiError,
  eventIn,
  type Json,
  Lines,
  type ListResult,
  largeText,
  listResult,
  parsed,
  type ReadOptions,
  type WatchEvent,
} from './answers.ts'
import { ApiError, namingClock, placed } from './api-error.ts'
import { type Connection, readConnection } from './client-config.ts'
import type { Operation } from './json-patch.ts'
import type { KubeconfigSource } from './kubeconfig.ts'
import type { HeldUp } from './request-gate.ts'
import type { ServerTime } from './server-time.ts'

/** Called for each request for which the client lacks a right, with the API server's message. */
export type OnForbidden = (message: string) => void

interface RequestOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  readonly contentType?: string
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

interface PagesOptions extends ReadOptions {
  readonly fieldSelector?: string | undefined
  /** More of the query, such as a label selector. */
  readonly query?: RequestOptions['query']
}

interface ClientOptions extends Pick<Connection, 'server' | 'token' | 'headers' | 'context'>, ClientSettings {
  readonly connect: () => Dispatcher
}

export interface ClientSettings {
  readonly onForbidden?: OnForbidden
  /** Default: each request is sent at once. */
  readonly admission?: Admission
  /** Is told the date of each answer of the API server. */
  readonly serverTime?: Pick<ServerTime, 'answered'>
}

interface DeleteOptions {
  readonly uid?: string
  readonly resourceVersion?: string
  readonly gracePeriodSeconds?: number
  /** Whether the API server only checks it, as it would check the deletion, and leaves the object. */
  readonly isDryRun?: boolean
}

const patchRefused = 'the server rejected our request due to an error in our request'
/** Longest wait for the headers of an answer. */
const requestTimeoutMs = 10_000
const listTimeoutMs = 60_000
/** Longest time of the body of a list of pods, of which there are by far the most. */
const podListMs = 120_000
/**
 * Silence after which TCP asks whether the other side is there. It gives up after ten seconds without an answer, so a watch whose connection
 * died stays unnoticed for 20 s at most.
 */
const keepAliveDelayMs = 10_000
/** Number of objects that a page requests. */
const pageSize = 500
/** Most bytes of a page of several objects: users may make objects of some MiB, and a page is in memory several times over. */
const mostPageBytes = 8 * 2 ** 20
/** Most pages of a list: more than any cluster has objects of some MiB. */
const mostPages = 20_000

/**
 * A small typed client over client-node's configuration loading and undici's connections.
 * Errors: `ApiError` for every answer outside 2xx; the transport's own errors otherwise.
 */
export class KubernetesClient {
  readonly server: string
  readonly #options: ClientOptions
  readonly #dispatcher: Dispatcher
  readonly #token: () => string | undefined
  readonly #onForbidden: OnForbidden
  readonly #others: KubernetesClient[] = []

  constructor(options: ClientOptions) {
    this.server = options.server
    this.#options = options
    this.#dispatcher = options.connect()
    this.#token = options.token
    this.#onForbidden = options.onForbidden ?? (() => {})
  }

  /**
   * Returns a client with connections of its own, which end with those of this one, and without admission: for what must not wait behind the requests
   * of hundreds of drains.
   */
  withOwnConnections(): KubernetesClient {
    const { admission: _, ...options } = this.#options
    const other = new KubernetesClient(options)
    this.#others.push(other)
    return other
  }

  /** Creates a client from a kubeconfig, or from the pod's own service account when nothing is named. Errors: as `readConnection`. */
  static async load(
    source: string | KubeconfigSource | undefined,
    settings: ClientSettings = {},
  ): Promise<KubernetesClient> {
    return KubernetesClient.of(await readConnection(source), settings)
  }

  static of(
    { server, tls, token, headers, proxy, context }: Connection,
    settings: ClientSettings = {},
  ): KubernetesClient {
    const limits = { connections: 64, keepAliveTimeout: 30_000 }
    const connect = { ...tls, keepAliveInitialDelay: keepAliveDelayMs }
    return new KubernetesClient({
      server,
      token,
      connect: () =>
        proxy === undefined
          ? new Agent({ connect, ...limits })
          : new ProxyAgent({ uri: proxy, requestTls: tls, ...limits }),
      ...(headers && { headers }),
      ...(context && { context }),
      ...settings,
    })
  }

  /**
   * Runs a section that reads and then writes the object at a path when it is its turn. Its requests wait no more: what was read would be old by the
   * time it is written.
   */
  inTurn<Result>(path: string, section: () => Promise<Result>): Promise<Result> {
    const { admission } = this.#options
    return admission === undefined ? section() : admission.gate.hold(admission.turnOf('PATCH', path), section)
  }

  /** Whether requests that need not be sent now should not be. */
  get isBusy(): boolean {
    return this.#options.admission?.gate.isBusy ?? false
  }

  /** How the API server holds this process up; undefined: it does not. */
  get heldUp(): HeldUp | undefined {
    return this.#options.admission?.gate.heldUp
  }

  /** Reads one object (or any path). */
  get(path: string, query?: RequestOptions['query'], signal?: AbortSignal): Promise<Json> {
    return this.#json('GET', path, { ...(query ? { query } : {}), ...(signal ? { signal } : {}) })
  }

  /** Reads a list, or one page of it where `query` has a `limit`, as in the Kubernetes API: a large cluster's list is larger than any answer may be. */
  async list(path: string, query: RequestOptions['query'] = {}, signal?: AbortSignal): Promise<ListResult> {
    if (query['limit'] !== undefined) {
      const options = { query, ...(signal ? { signal } : {}), timeoutMs: listTimeoutMs }
      return listResult(path, await this.#json('GET', path, options))
    }
    const items: Json[] = []
    let resourceVersion = ''
    for await (const page of this.listPages(path, { query, signal })) {
      for (const item of page.items) items.push(item)
      resourceVersion = page.resourceVersion
    }
    return { items, resourceVersion }
  }

  /**
   * Reads a list page by page. A page that turns out to be too large is requested again with fewer objects. So a list never takes much
   * more memory than its largest object.
   */
  async *listPages(
    path: string,
    { fieldSelector, query: given, signal, parseLarge }: PagesOptions = {},
  ): AsyncGenerator<ListResult> {
    let next: string | undefined
    let limit = pageSize
    const continued = new Set<string>()
    for (let pages = 0; pages < mostPages; pages++) {
      const query = { fieldSelector, ...given, limit, continue: next }
      const { headers, body } = await this.#send('GET', path, {
        query,
        ...(signal ? { signal } : {}),
        timeoutMs: listTimeoutMs,
      })
      const what = `GET ${path}`
      const text = await readAtMost(piecesOf(body, what, limitsOf(path)), limit === 1 ? mostBodyBytes : mostPageBytes)
      if (text === undefined) {
        if (limit === 1) throw new Error(`${what}: one object has more than ${mostBodyBytes / 2 ** 20} MiB`)
        limit = Math.max(1, Math.floor(limit / 4))
        continue
      }
      const isLarge = limit < pageSize && text.length >= largeText && parseLarge !== undefined
      const page = listResult(path, isLarge ? await parseLarge(text) : this.#parsed(what, text, headers))
      const bytesEach = text.length / Math.max(1, page.items.length)
      limit = Math.min(pageSize, Math.max(1, Math.floor((0.75 * mostPageBytes) / bytesEach)))
      next = page.continue
      if (next !== undefined && continued.has(next))
        throw new Error(`${what}: the list does not end: a page continues with itself or with one before it`)
      if (next !== undefined) continued.add(next)
      yield page
      if (next === undefined) return
    }
    throw new Error(`GET ${path}: the list has more than ${mostPages} pages`)
  }

  create(path: string, body: Json): Promise<Json> {
    return this.#json('POST', path, { body })
  }

  /**
   * JSON merge patch. Put `metadata.resourceVersion` into the body for an optimistic lock. Errors: a `metadata.uid` of another object is a conflict (409),
   * which the API server calls a change of an immutable field (422).
   */
  async mergePatch(path: string, body: Json): Promise<Json> {
    try {
      return await this.#json('PATCH', path, { body, contentType: 'application/merge-patch+json' })
    } catch (error) {
      if (error instanceof ApiError && error.code === 422 && error.message.includes('metadata.uid: '))
        throw new ApiError(409, 'Conflict', error.message)
      throw error
    }
  }

  /** JSON patch. Errors: a failed test in it is a conflict (409). */
  async jsonPatch(path: string, operations: readonly Operation[]): Promise<Json> {
    try {
      return await this.#json('PATCH', path, { body: operations, contentType: 'application/json-patch+json' })
    } catch (error) {
      // The API server answers 422 for an invalid object as well, but names the object then.
      if (error instanceof ApiError && error.code === 422 && error.message.includes(patchRefused))
        throw new ApiError(409, 'Conflict', error.message)
      throw error
    }
  }

  /** JSON merge patch of the status subresource. */
  patchStatus(path: string, body: Json): Promise<Json> {
    return this.mergePatch(`${path}/status`, body)
  }

  /** Deletes an object: with a `uid`, only the object with that UID; with a `resourceVersion`, only as it was read (409 otherwise). */
  delete(path: string, { gracePeriodSeconds, isDryRun, ...preconditions }: DeleteOptions = {}): Promise<Json> {
    const dryRun = isDryRun === true ? { dryRun: ['All'] } : {}
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions, gracePeriodSeconds, ...dryRun }
    return this.#json('DELETE', path, { body })
  }

  /** Requests the eviction of the pod with this UID. 429: a PodDisruptionBudget forbids it for now. */
  evict(namespace: string, name: string, uid: string): Promise<Json> {
    return this.create(
      `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/eviction`,
      {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name, namespace },
        deleteOptions: { preconditions: { uid } },
      },
    )
  }

  /** The server's version, such as `v1.36.3`. */
  async version(): Promise<string> {
    return String((await this.get('/version'))['gitVersion'])
  }

  /** The server's clock, from the header of an answer; undefined when it has none. */
  async serverDate(): Promise<string | undefined> {
    const { headers, body } = await this.#send('GET', '/version', {})
    await readWhole(body, 'GET /version')
    return headers['date']?.toString()
  }

  /**
   * Watches a path from a resource version. Ends when the server ends it, throws on transport errors, `ApiError` 410 included.
   * `idleMs`: silence (bookmarks end it) after which the connection counts as dead.
   */
  async *watch(
    path: string,
    options: ReadOptions & {
      readonly resourceVersion: string
      readonly signal: AbortSignal
      readonly idleMs: number
      /** Called when the server has accepted the watch. */
      readonly onOpen?: () => void
    },
  ): AsyncGenerator<WatchEvent> {
    const dead = new AbortController()
    const signal = AbortSignal.any([options.signal, dead.signal])
    const query = {
      watch: true,
      allowWatchBookmarks: true,
      timeoutSeconds: 540,
      resourceVersion: options.resourceVersion,
    }
    const silent = () => dead.abort(new Error(`no event and no bookmark for ${options.idleMs} ms`))
    let timer = setTimeout(silent, options.idleMs)
    const lines = new Lines()
    try {
      const response = await this.#send('GET', path, { query, signal, timeoutMs: 0 })
      options.onOpen?.()
      for await (const chunk of response.body) {
        for (const line of lines.endedBy(chunk as Uint8Array)) {
          // Bytes alone prove nothing: a line that never ends brings no event.
          clearTimeout(timer)
          timer = setTimeout(silent, options.idleMs)
          yield eventIn(line, options.parseLarge)
        }
      }
    } finally {
      clearTimeout(timer)
      dead.abort()
    }
  }

  /** Closes the connections; running requests fail. */
  async close(): Promise<void> {
    await Promise.all([this.#dispatcher.destroy(), ...this.#others.map((other) => other.close())])
  }

  async #json(method: Dispatcher.HttpMethod, path: string, options: RequestOptions): Promise<Json> {
    const send = () => this.#send(method, path, options)
    const { headers, body } = await admitted(this.#options.admission, { method, path, signal: options.signal }, send)
    const what = `${method} ${path}`
    return this.#parsed(what, await readWhole(body, what, limitsOf(path)), headers)
  }

  #parsed(...answer: Parameters<typeof parsed>): Json {
    try {
      return parsed(...answer)
    } catch (error) {
      throw this.#placed(error)
    }
  }

  async #send(method: Dispatcher.HttpMethod, path: string, options: RequestOptions): Promise<Dispatcher.ResponseData> {
    const url = new URL(this.server + path)
    for (const [name, value] of Object.entries(options.query ?? {}))
      if (value !== undefined) url.searchParams.set(name, String(value))
    const token = this.#token()
    const timeoutMs = options.timeoutMs ?? requestTimeoutMs
    const late = new AbortController()
    const timer =
      timeoutMs > 0
        ? setTimeout(() => late.abort(new Error(`${method} ${path}: no answer in ${timeoutMs / 1000} s`)), timeoutMs)
        : undefined
    const sentMs = performance.now()
    const response = await request(url, {
      method,
      dispatcher: this.#dispatcher,
      headersTimeout: timeoutMs,
      bodyTimeout: 0,
      headers: {
        accept: 'application/json',
        'user-agent': 'joiner',
        ...this.#options.headers,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(options.body === undefined ? {} : { 'content-type': options.contentType ?? 'application/json' }),
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      signal: AbortSignal.any([...(options.signal ? [options.signal] : []), late.signal]),
    })
      .catch((error: unknown) => {
        throw this.#placed(namingClock(error))
      })
      .finally(() => clearTimeout(timer))
    // Such errors may be those of what stands before the API server.
    if (response.statusCode < 500) this.#options.serverTime?.answered(response.headers['date']?.toString(), sentMs)
    if (response.statusCode < 300) return response
    const error = await apiError(method, path, response)
    if (error.code === 403) this.#onForbidden(error.message)
    throw this.#placed(error)
  }

  /** Lets an error know which cluster it is of: a person's kubeconfig has several. */
  #placed(error: unknown): unknown {
    const { context } = this.#options
    return placed(error, context === undefined ? this.server : `${this.server} (context "${context.name}")`)
  }
}

/** Limits of an answer's body: lists of pods are by far the largest. */
function limitsOf(path: string): BodyLimits {
  return /\/pods(\?|$)/.test(path) ? { ...bodyLimits, wholeMs: podListMs } : bodyLimits
}
