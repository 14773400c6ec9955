import pino from 'pino'
import type { CachedKind } from '../../activities/kubernetes/cache/cached-kinds.ts'
import { kindRules } from '../../activities/kubernetes/cache/cached-kinds.ts'
import { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import type { Json, ListResult, WatchEvent } from '../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import type { Operation } from '../../activities/kubernetes/client/json-patch.ts'
import { type ResourceName, resourcePath } from '../../activities/kubernetes/client/resources.ts'
import { ApiServer, type DeleteOptions } from '../fast/kubernetes/api/api-server.ts'
import { jsonCopy } from '../fast/kubernetes/api/json-copy.ts'
import { type Meta, metaOf } from '../fast/kubernetes/api/objects.ts'
import { listPathOf, resourceOf } from '../fast/kubernetes/api/paths.ts'
import { type Method, type PatchType, Rest, serverVersion } from '../fast/kubernetes/api/rest.ts'
import type { Change, Watching, WatchOptions } from '../fast/kubernetes/api/watches.ts'
import { type FakeObject, shownObject } from './patches.ts'

/** A request as an interceptor sees it, before it takes effect. */
export interface FakeRequest {
  readonly verb: 'get' | 'list' | 'create' | 'patch' | 'delete' | 'evict'
  /** The path of the object, or of the list. */
  readonly path: string
  readonly body?: unknown
}

/** An answer as it travels. */
interface Answer<T> {
  readonly status: number
  readonly body: T
}

type Query = Readonly<Record<string, unknown>>

const resources = Object.fromEntries(
  Object.entries(kindRules).map(([kind, { resource }]) => [resource, kind]),
) as Readonly<Partial<Record<ResourceName, CachedKind>>>

/** Most objects of a page of a list. */
const pageSize = 500

/**
 * A cluster in memory as its clients see it: an API server with the rules that Joiner's writes depend on (`ApiServer`). Answers are copies, so nobody
 * changes an object but by a request. Time is `Date.now`, which tests fake (`useFakeTime`).
 * A cache that was made by `cacheOf` is told of each change at once, as by a watch without delay; `lag` holds it back.
 */
export class FakeCluster {
  readonly server = new ApiServer()
  readonly #rest = new Rest(this.server)
  readonly #caches: ClusterCache[] = []
  readonly #interceptors: ((request: FakeRequest) => unknown)[] = []
  readonly #withheld: (() => void)[] = []
  readonly #copies = new WeakMap<Json, Json>()
  #isLagging = false

  /** Requests that changed something or tried to, oldest first, such as `delete /api/v1/nodes/a`. */
  readonly attempts: string[] = []

  readonly client = {
    server: 'https://fake',
    withOwnConnections: () => this.client,
    inTurn: <Result>(_path: string, section: () => Promise<Result>): Promise<Result> => section(),
    get: async (path: string): Promise<Json> => {
      await this.#intercept({ verb: 'get', path })
      return this.#answer('GET', path)
    },
    list: async (path: string, query: Query = {}): Promise<ListResult> => {
      await this.#intercept({ verb: 'list', path })
      return this.#list(path, query)
    },
    listPages: async function* (this: KubernetesClient, path: string, { query, ...options }: { query?: Query } = {}) {
      for (let next: unknown; ; ) {
        const page = await this.list(path, { ...options, ...query, limit: pageSize, continue: next } as never)
        yield page
        if (page.continue === undefined) return
        next = page.continue
      }
    },
    /** Changes since a version, or from now on. */
    watch: (path: string, options: WatchOptions): AsyncGenerator<WatchEvent> =>
      this.server.objects.watches.watch(path, options),
    create: async (path: string, body: Json): Promise<Json> => {
      await this.#intercept({ verb: 'create', path, body })
      return this.#answer('POST', path, body)
    },
    mergePatch: async (path: string, body: Json): Promise<Json> => {
      await this.#intercept({ verb: 'patch', path, body })
      return this.#answer('PATCH', path, body)
    },
    patchStatus: (path: string, body: Json): Promise<Json> => this.client.mergePatch(`${path}/status`, body),
    jsonPatch: async (path: string, operations: readonly Operation[]): Promise<Json> => {
      await this.#intercept({ verb: 'patch', path, body: operations })
      return jsonCopy(this.#rest.answer({ method: 'PATCH', url: path, body: operations, patch: 'json' }))
    },
    delete: async (path: string, options: DeleteOptions = {}): Promise<Json> => {
      await this.#intercept({ verb: 'delete', path, body: options })
      return jsonCopy(this.server.delete(path, options))
    },
    evict: async (namespace: string, name: string, uid: string): Promise<Json> => {
      const path = resourcePath('pods', name, namespace)
      await this.#intercept({ verb: 'evict', path })
      return jsonCopy(this.server.evict(path, { uid }))
    },
    version: () => Promise.resolve(serverVersion),
    serverDate: () => Promise.resolve(new Date().toUTCString()),
    close: () => Promise.resolve(),
  } as unknown as KubernetesClient

  constructor() {
    this.server.objects.onChange((change) => this.#notify(change))
  }

  /** How long pods take to end once they are told to, at most their grace period. Infinite: kubelets are silent, and pods stay. */
  get podsTakeMs(): number {
    return this.server.podsTakeMs
  }

  set podsTakeMs(ms: number) {
    this.server.podsTakeMs = ms
  }

  /** Whether objects go with their last owner, as the controller manager lets them go. */
  set collectsGarbage(collects: boolean) {
    this.server.collectsGarbage = collects
  }

  /** How watches are served: their lag, for one. */
  get watching(): Watching {
    return this.server.objects.watches.serving
  }

  /** Forgets what has changed: a watch from before now is refused with 410. */
  forgetChanges(): void {
    this.server.objects.watches.forget()
  }

  /** Ends all watches that are open, as a restart of the server does. */
  endWatches(): void {
    this.server.objects.watches.end()
  }

  /** A request as it travels, of somebody who may do everything. Errors: `ApiError` for what is no success. */
  async request<T = Json>(method: Method, path: string, body?: unknown, patch?: PatchType): Promise<T> {
    await Promise.resolve()
    const answer = this.#rest.answer({ method, url: path, body, ...(patch && { patch }) })
    return (method === 'GET' ? this.#read(answer) : jsonCopy(answer)) as T
  }

  /** What is stored never changes, so whatever reads it again gets the same copy. Suites look fifty times a second. */
  #read(answer: Json): Json {
    const { items } = answer
    return Array.isArray(items)
      ? { ...answer, items: items.map((item) => this.#copyOf(item as Json)) }
      : this.#copyOf(answer)
  }

  #copyOf(object: Json): Json {
    const copy = this.#copies.get(object) ?? jsonCopy(object)
    this.#copies.set(object, copy)
    return copy
  }

  /** What a GET answers, to be looked at only: it is no copy. */
  async look<T = Json>(path: string): Promise<T> {
    await Promise.resolve()
    return this.#rest.answer({ method: 'GET', url: path, body: undefined }) as T
  }

  /** The same with its status, whether it is a success or not. */
  async respond(method: Method, path: string, body?: unknown, patch?: PatchType): Promise<Answer<Json>> {
    try {
      return { status: method === 'POST' ? 201 : 200, body: await this.request(method, path, body, patch) }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const { code, reason, message } = error
      return { status: code, body: { apiVersion: 'v1', kind: 'Status', status: 'Failure', code, reason, message } }
    }
  }

  /** Applies objects as `kubectl apply --server-side --force-conflicts` does. */
  async apply(...objects: readonly unknown[]): Promise<void> {
    for (const object of objects as readonly Json[]) {
      const path = `${listPathOf(object)}/${encodeURIComponent(metaOf(object).name)}`
      await this.request('PATCH', `${path}?fieldManager=kubectl&force=true`, object, 'apply')
    }
  }

  /** A cache that knows what there is and is told of what comes. Its own lists are not intercepted. */
  cacheOf(): ClusterCache {
    const list = async (path: string, query: Query = {}) => this.#list(path, query)
    const listPages = async function* (path: string, query: Query = {}) {
      yield await list(path, query)
    }
    const cache = new ClusterCache({ list, listPages } as never, pino({ level: 'silent' }), { machines: true })
    for (const [path, object] of this.server.objects.all()) enter(cache, path, object)
    this.#caches.push(cache)
    return cache
  }

  /** Calls `see` before each request takes effect; what it throws is the answer, and what it writes has come before. Returns what ends it. */
  intercept(see: (request: FakeRequest) => unknown): () => void {
    this.#interceptors.push(see)
    return () => void this.#interceptors.splice(this.#interceptors.indexOf(see), 1)
  }

  /** Caches hear of nothing until `catchUp`. */
  lag(): void {
    this.#isLagging = true
  }

  /** Ends `lag`: caches hear of all that was withheld. */
  catchUp(): void {
    this.#isLagging = false
    for (const pass of this.#withheld.splice(0)) pass()
  }

  /** Puts an object there as it is, as if somebody else had written it; what there is of that name is replaced. */
  put(resource: ResourceName, object: Json): void {
    const meta = object['metadata'] as Meta
    const path = resourcePath(resource, meta.name, meta.namespace)
    this.server.objects.store(path, jsonCopy({ ...object, metadata: this.server.named(meta) }))
  }

  /** An object as it is now; undefined: there is none. */
  object(resource: ResourceName, name: string, namespace?: string): FakeObject | undefined {
    const object = this.server.objects.find(resourcePath(resource, name, namespace))
    return object && shownObject(object)
  }

  /** Names of all objects of a resource, sorted. */
  names(resource: ResourceName): readonly string[] {
    return this.server.objects
      .of(resource)
      .map((object) => metaOf(object).name)
      .sort()
  }

  /** All objects of a resource, sorted by name. */
  all(resource: ResourceName): readonly FakeObject[] {
    const kept = this.server.objects.of(resource)
    return kept.map(shownObject).sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
  }

  /** Changes an object behind everybody's back, as another client of the API server does. */
  edit(resource: ResourceName, name: string, change: Json, namespace?: string): void {
    this.server.edit(resourcePath(resource, name, namespace), change)
  }

  /** Takes an object away at once, with finalizers and all. */
  remove(resource: ResourceName, name: string, namespace?: string): void {
    this.server.objects.drop(resourcePath(resource, name, namespace))
  }

  /** Everything that tells one state from another, for comparisons. */
  snapshot(): ReadonlyMap<string, Json> {
    return new Map(structuredClone([...this.server.objects.all()]))
  }

  async #intercept(request: FakeRequest): Promise<void> {
    if (request.verb !== 'get' && request.verb !== 'list') this.attempts.push(`${request.verb} ${request.path}`)
    // A request takes a turn, so that requests that are sent together overlap.
    await Promise.resolve()
    for (const see of this.#interceptors) await see(request)
  }

  #answer(method: Method, url: string, body?: Json): Json {
    return jsonCopy(this.#rest.answer({ method, url, body }))
  }

  #list(path: string, query: Query): ListResult {
    const [whole = '', own] = path.split('?')
    const all = new URLSearchParams(own)
    for (const [name, value] of Object.entries(query)) if (isText(value)) all.set(name, String(value))
    const { items, metadata } = this.#answer('GET', `${whole}?${all.toString()}`) as unknown as PageJson
    const { resourceVersion, continue: next } = metadata
    return { items, resourceVersion, ...(next === undefined ? {} : { continue: next }) }
  }

  #notify(change: Change): void {
    for (const cache of this.#caches) {
      if (this.#isLagging) this.#withheld.push(() => tell(cache, change))
      else tell(cache, change)
    }
  }
}

interface PageJson {
  readonly items: readonly Json[]
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
}

const isText = (value: unknown) => typeof value === 'string' || typeof value === 'number'

function enter(cache: ClusterCache, path: string, object: Json): void {
  const kind = resources[resourceOf(path) as ResourceName]
  if (kind !== undefined) cache.upsert(kind, jsonCopy(object))
}

/** What is not in a list any more leaves the cache. */
function tell(cache: ClusterCache, { type, path, resource, object }: Change): void {
  const kind = resources[resource as ResourceName]
  if (kind === undefined) return
  if (type === 'DELETED') void cache.catchUp([kind])
  else enter(cache, path, object)
}
