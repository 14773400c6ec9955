import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type Cluster, KubeConfig, type User } from '@kubernetes/client-node'
import { Agent, type Dispatcher, request } from 'undici'
import { parse } from 'yaml'
import type { Operation } from './json-patch.ts'

/** A Kubernetes object as it travels. */
export type Json = Record<string, unknown>

/** An answer of the API server that is not 2xx. `code` is the HTTP status, `reason` Kubernetes' word for it. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: number
  readonly reason: string
  readonly retryAfterSeconds: number | undefined

  constructor(code: number, reason: string, message: string, retryAfterSeconds?: number) {
    super(message)
    this.code = code
    this.reason = reason
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The object does not exist (any more). */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.code === 404
}

/** An optimistic lock was lost, or the object exists already. */
export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.code === 409
}

/** A watch or a list continuation asked for a version that the server has forgotten. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.code === 410
}

/** An eviction that a PodDisruptionBudget forbids now, or a throttled request. */
export function isTooManyRequests(error: unknown): boolean {
  return error instanceof ApiError && error.code === 429
}

export interface ListResult {
  readonly items: readonly Json[]
  readonly resourceVersion: string
  readonly continue?: string
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: Json
}

/** Is told of each request for which the client lacks a right: of what the API server says about it. */
export type OnForbidden = (message: string) => void

interface RequestOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  readonly contentType?: string
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

const patchRefused = 'the server rejected our request due to an error in our request'
const requestTimeoutMs = 10_000
/** A token file is looked at again this often: tokens are renewed well before they end. */
const tokenReadEveryMs = 5000

/**
 * A small typed client over client-node's configuration loading and undici's connections.
 * Errors: `ApiError` for every answer outside 2xx; the transport's own errors otherwise.
 */
export class KubernetesClient {
  readonly server: string
  readonly #dispatcher: Dispatcher
  readonly #token: () => string | undefined
  readonly #onForbidden: OnForbidden

  constructor(options: {
    readonly server: string
    readonly dispatcher: Dispatcher
    readonly token: () => string | undefined
    readonly onForbidden?: OnForbidden
  }) {
    this.server = options.server
    this.#dispatcher = options.dispatcher
    this.#token = options.token
    this.#onForbidden = options.onForbidden ?? (() => {})
  }

  /** From a kubeconfig file, or from the pod's own service account when no file is named. */
  static async load(kubeconfig: string | undefined, onForbidden?: OnForbidden): Promise<KubernetesClient> {
    const config = new KubeConfig()
    if (kubeconfig === undefined) config.loadFromCluster()
    else config.loadFromFile(kubeconfig)
    const cluster = config.getCurrentCluster()
    const user = config.getCurrentUser()
    if (cluster === null)
      throw new Error(
        `kubeconfig ${kubeconfig ?? '(in cluster)'}: current-context names no cluster; set current-context`,
      )
    const tls: { ca?: string | Buffer; cert?: string | Buffer; key?: string | Buffer } = {}
    await config.applyToHTTPSOptions(tls)
    return new KubernetesClient({
      server: cluster.server.replace(/\/$/, ''),
      dispatcher: new Agent({ connect: tlsOptions(tls, cluster), connections: 64, keepAliveTimeout: 30_000 }),
      token: tokenSource(user, kubeconfig),
      ...(onForbidden === undefined ? {} : { onForbidden }),
    })
  }

  /** Reads one object (or any path). */
  get(path: string, query?: RequestOptions['query'], signal?: AbortSignal): Promise<Json> {
    return this.#json('GET', path, { ...(query ? { query } : {}), ...(signal ? { signal } : {}) })
  }

  /** Reads one page of a list. `limit` and `continue` as in the Kubernetes API. */
  async list(path: string, query: RequestOptions['query'] = {}, signal?: AbortSignal): Promise<ListResult> {
    const page = (await this.#json('GET', path, { query, ...(signal ? { signal } : {}), timeoutMs: 60_000 })) as {
      items?: Json[]
      kind?: string
      apiVersion?: string
      metadata?: { resourceVersion?: string; continue?: string }
    }
    const next = page.metadata?.continue
    return {
      items: page.items ?? [],
      resourceVersion: page.metadata?.resourceVersion ?? '',
      ...(next ? { continue: next } : {}),
    }
  }

  create(path: string, body: Json): Promise<Json> {
    return this.#json('POST', path, { body })
  }

  /** JSON merge patch. Put `metadata.resourceVersion` into the body for an optimistic lock. */
  mergePatch(path: string, body: Json): Promise<Json> {
    return this.#json('PATCH', path, { body, contentType: 'application/merge-patch+json' })
  }

  /** JSON patch. Errors: a test in it that did not hold is a conflict (409). */
  async jsonPatch(path: string, operations: readonly Operation[]): Promise<Json> {
    try {
      return await this.#json('PATCH', path, { body: operations, contentType: 'application/json-patch+json' })
    } catch (error) {
      // The API server says 422 of an object that is not valid as well, but names the object then.
      if (error instanceof ApiError && error.code === 422 && error.message.includes(patchRefused))
        throw new ApiError(409, 'Conflict', error.message)
      throw error
    }
  }

  /** JSON merge patch of the status subresource. */
  patchStatus(path: string, body: Json): Promise<Json> {
    return this.mergePatch(`${path}/status`, body)
  }

  /** Deletes an object; with a `uid`, only that very object (409 otherwise). */
  delete(path: string, options: { readonly uid?: string; readonly gracePeriodSeconds?: number } = {}): Promise<Json> {
    return this.#json('DELETE', path, {
      body: {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        ...(options.uid === undefined ? {} : { preconditions: { uid: options.uid } }),
        ...(options.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds }),
      },
    })
  }

  /** Asks for the eviction of one very pod. 429: a PodDisruptionBudget says no for now. */
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

  /** The server's clock, as the header of an answer has it; undefined: the server does not say. */
  async serverDate(): Promise<string | undefined> {
    const { headers, body } = await this.#send('GET', '/version', {})
    await body.dump()
    return headers['date']?.toString()
  }

  /**
   * Watches a path from a resource version. Ends when the server ends it, throws on transport errors, `ApiError` 410 included.
   * `idleMs`: with nothing heard for so long (bookmarks count) the connection is taken for dead.
   */
  async *watch(
    path: string,
    options: { readonly resourceVersion: string; readonly signal: AbortSignal; readonly idleMs: number },
  ): AsyncGenerator<WatchEvent> {
    const dead = new AbortController()
    const signal = AbortSignal.any([options.signal, dead.signal])
    const query = {
      watch: true,
      allowWatchBookmarks: true,
      timeoutSeconds: 540,
      resourceVersion: options.resourceVersion,
    }
    const response = await this.#send('GET', path, { query, signal, timeoutMs: 0 })
    let timer = setTimeout(() => dead.abort(), options.idleMs)
    let rest = ''
    const decoder = new TextDecoder()
    try {
      for await (const chunk of response.body) {
        clearTimeout(timer)
        timer = setTimeout(
          () => dead.abort(new Error(`no event and no bookmark for ${options.idleMs} ms`)),
          options.idleMs,
        )
        const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) if (line !== '') yield parseEvent(line)
      }
    } finally {
      clearTimeout(timer)
      dead.abort()
    }
  }

  /** Closes the connections; running requests fail. */
  close(): Promise<void> {
    return this.#dispatcher.destroy()
  }

  async #json(method: Dispatcher.HttpMethod, path: string, options: RequestOptions): Promise<Json> {
    const response = await this.#send(method, path, options)
    return (await response.body.json()) as Json
  }

  async #send(method: Dispatcher.HttpMethod, path: string, options: RequestOptions): Promise<Dispatcher.ResponseData> {
    const url = new URL(this.server + path)
    for (const [name, value] of Object.entries(options.query ?? {}))
      if (value !== undefined) url.searchParams.set(name, String(value))
    const token = this.#token()
    const timeoutMs = options.timeoutMs ?? requestTimeoutMs
    const signals = [
      ...(options.signal ? [options.signal] : []),
      ...(timeoutMs > 0 ? [AbortSignal.timeout(timeoutMs)] : []),
    ]
    const response = await request(url, {
      method,
      dispatcher: this.#dispatcher,
      headersTimeout: timeoutMs,
      bodyTimeout: 0,
      headers: {
        accept: 'application/json',
        'user-agent': 'joiner',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(options.body === undefined ? {} : { 'content-type': options.contentType ?? 'application/json' }),
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
    })
    if (response.statusCode < 300) return response
    const error = await apiError(method, path, response)
    // An event that comes too late for its namespace is refused with 403 as well; no right is missing then.
    if (error.code === 403 && !error.message.endsWith('because it is being terminated'))
      this.#onForbidden(error.message)
    throw error
  }
}

async function apiError(method: string, path: string, response: Dispatcher.ResponseData): Promise<ApiError> {
  const text = await response.body.text()
  const status = parseStatus(text)
  const retryAfter = Number(response.headers['retry-after'])
  return new ApiError(
    response.statusCode,
    status.reason ?? 'Unknown',
    `${method} ${path}: ${response.statusCode} ${status.message ?? text.slice(0, 300)}`,
    Number.isFinite(retryAfter) ? retryAfter : undefined,
  )
}

function parseStatus(text: string): { reason?: string; message?: string } {
  try {
    return JSON.parse(text) as { reason?: string; message?: string }
  } catch {
    return {}
  }
}

function parseEvent(line: string): WatchEvent {
  const event = JSON.parse(line) as WatchEvent
  if (event.type !== 'ERROR') return event
  const status = event.object as { code?: number; reason?: string; message?: string }
  throw new ApiError(
    status.code ?? 500,
    status.reason ?? 'Unknown',
    `watch: ${status.message ?? 'the server reported an error'}`,
  )
}

function tlsOptions(
  tls: { readonly ca?: string | Buffer; readonly cert?: string | Buffer; readonly key?: string | Buffer },
  cluster: Cluster,
): { ca?: string | Buffer; cert?: string | Buffer; key?: string | Buffer; rejectUnauthorized?: boolean } {
  return {
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
    ...(cluster.skipTLSVerify ? { rejectUnauthorized: false } : {}),
  }
}

/** client-node knows token files only in the cluster's own form, so a kubeconfig's `tokenFile` is read from the file itself. */
function tokenSource(user: User | null, kubeconfig: string | undefined): () => string | undefined {
  const file = tokenFile(user, kubeconfig)
  if (file === undefined) return () => user?.token
  let token: string | undefined
  let readAt = 0
  return () => {
    if (Date.now() - readAt > tokenReadEveryMs) {
      token = readFileSync(file, 'utf8').trim()
      readAt = Date.now()
    }
    return token
  }
}

function tokenFile(user: User | null, kubeconfig: string | undefined): string | undefined {
  const provided = (user?.authProvider as { config?: { tokenFile?: string } } | undefined)?.config?.tokenFile
  if (provided !== undefined || kubeconfig === undefined) return provided
  const raw = parse(readFileSync(kubeconfig, 'utf8')) as { users?: { name: string; user?: { tokenFile?: string } }[] }
  const named = raw.users?.find((entry) => entry.name === user?.name)?.user?.tokenFile
  return named === undefined ? undefined : resolve(dirname(kubeconfig), named)
}
