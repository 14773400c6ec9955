import { isDeepStrictEqual } from 'node:util'
import pino from 'pino'
import type { CachedKind } from '../../activities/kubernetes/cache/cached-kinds.ts'
import { kindRules } from '../../activities/kubernetes/cache/cached-kinds.ts'
import { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import type { Json, WatchEvent } from '../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../activities/kubernetes/client/api-error.ts'
import { type KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import type { Operation } from '../../activities/kubernetes/client/json-patch.ts'
import { type ResourceName, resourcePath } from '../../activities/kubernetes/client/resources.ts'
import { budgetFor, fieldSelectorOf, isNewGeneration, keepingStatus, matchesField, withoutEmpty } from './api-rules.ts'
import { type FakeObject, merged, operated, shownObject } from './patches.ts'

type Meta = Record<string, unknown> & { name: string; namespace?: string; uid: string; resourceVersion: string }

/** A request as an interceptor sees it, before it takes effect. */
export interface FakeRequest {
  readonly verb: 'get' | 'list' | 'create' | 'patch' | 'delete' | 'evict'
  /** The path of the object, or of the list. */
  readonly path: string
  readonly body?: unknown
}

const resources = Object.fromEntries(
  Object.entries(kindRules).map(([kind, { resource }]) => [resource, kind]),
) as Readonly<Partial<Record<ResourceName, CachedKind>>>

const isNone = (list: unknown) => (Array.isArray(list) ? list.length : 0) === 0

interface DeleteOptions {
  readonly uid?: string
  readonly resourceVersion?: string
  readonly gracePeriodSeconds?: number
}

/**
 * An API server in memory with the rules that Joiner's writes depend on: resource versions and UIDs as locks, finalizers, grace periods, the status
 * subresource, evictions under PodDisruptionBudgets. Answers are copies, so nobody changes an object but by a request.
 * Time is `Date.now`, which tests fake (`useFakeTime`).
 * A cache that was made by `cacheOf` is told of each change at once, as by a watch without delay; `lag` holds it back.
 */
export class FakeCluster {
  /** How long pods take to end once they are told to, at most their grace period. Infinite: kubelets are silent, and pods stay. */
  podsTakeMs = 1000
  /** Whether objects go with their last owner, as the controller manager lets them go. */
  collectsGarbage = false
  readonly #objects = new Map<string, Json>()
  readonly #caches: ClusterCache[] = []
  readonly #interceptors: ((request: FakeRequest) => unknown)[] = []
  readonly #watchers = new Set<(path: string, type: WatchEvent['type'], object: Json) => void>()
  readonly #withheld: (() => void)[] = []
  readonly #created = new Map<string, number>()
  #isLagging = false
  #version = 1

  /** Requests that changed something or tried to, oldest first, such as `delete /api/v1/nodes/a`. */
  readonly attempts: string[] = []

  readonly client = {
    server: 'https://fake',
    get: async (path: string): Promise<Json> => {
      await this.#intercept({ verb: 'get', path })
      return structuredClone(this.#require(path))
    },
    list: async (path: string, query: Record<string, unknown> = {}) => {
      await this.#intercept({ verb: 'list', path })
      return this.#list(path, query)
    },
    listPages: async function* (this: KubernetesClient, path: string, query: Record<string, string> = {}) {
      yield await this.list(path, query)
    },
    /** Changes from now on, of a path that a list took. */
    watch: (path: string, { signal }: { signal: AbortSignal }) => this.#watch(path, signal),
    create: async (path: string, body: Json): Promise<Json> => {
      await this.#intercept({ verb: 'create', path, body })
      return this.#create(path, body)
    },
    mergePatch: async (path: string, body: Json): Promise<Json> => {
      await this.#intercept({ verb: 'patch', path, body })
      return this.#change(path, body['metadata'] as Partial<Meta> | undefined, (object) =>
        keepingStatus(resourceOf(path), merged(object, body), object),
      )
    },
    patchStatus: async (path: string, body: Json): Promise<Json> => {
      await this.#intercept({ verb: 'patch', path: `${path}/status`, body })
      return this.#change(path, body['metadata'] as Partial<Meta> | undefined, (object) => ({
        ...object,
        status: merged((object['status'] ?? {}) as Json, (body['status'] ?? {}) as Json),
      }))
    },
    jsonPatch: async (path: string, operations: readonly Operation[]): Promise<Json> => {
      await this.#intercept({ verb: 'patch', path, body: operations })
      return this.#change(path, undefined, (object) => {
        const before = structuredClone(object)
        return keepingStatus(resourceOf(path), operated(object, operations), before)
      })
    },
    delete: async (path: string, options: DeleteOptions = {}): Promise<Json> => {
      await this.#intercept({ verb: 'delete', path, body: options })
      return this.#delete(path, options)
    },
    evict: async (namespace: string, name: string, uid: string): Promise<Json> => {
      const path = resourcePath('pods', name, namespace)
      await this.#intercept({ verb: 'evict', path })
      return this.#evict(path, uid)
    },
    close: async () => {},
  } as unknown as KubernetesClient

  /** A cache that knows what there is and is told of what comes. Its own lists are not intercepted. */
  cacheOf(): ClusterCache {
    const list = async (path: string, query: Record<string, unknown> = {}) => this.#list(path, query)
    const listPages = async function* (path: string, query: Record<string, unknown> = {}) {
      yield await list(path, query)
    }
    const cache = new ClusterCache({ list, listPages } as never, pino({ level: 'silent' }), { machines: true })
    for (const [path, object] of this.#objects) enter(cache, path, object)
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
    const { metadata } = object as { metadata: Partial<Meta> }
    const path = resourcePath(resource, metadata.name, metadata.namespace)
    this.#store(path, { ...object, metadata: this.#named(metadata as Meta) })
  }

  /** An object as it is now; undefined: there is none. */
  object(resource: ResourceName, name: string, namespace?: string): FakeObject | undefined {
    const object = this.#objects.get(resourcePath(resource, name, namespace))
    return object && shownObject(object)
  }

  /** Names of all objects of a resource, sorted. */
  names(resource: ResourceName): readonly string[] {
    const kept = [...this.#objects].filter(([path]) => resourceOf(path) === resource)
    return kept.map(([, object]) => (object['metadata'] as Meta).name).sort()
  }

  /** All objects of a resource, sorted by name. */
  all(resource: ResourceName): readonly FakeObject[] {
    const kept = [...this.#objects].filter(([path]) => resourceOf(path) === resource)
    return kept.map(([, object]) => shownObject(object)).sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
  }

  /** Changes an object behind everybody's back, as another client of the API server does. */
  edit(resource: ResourceName, name: string, change: Json, namespace?: string): void {
    const path = resourcePath(resource, name, namespace)
    this.#store(path, merged(this.#require(path), change))
  }

  /** Takes an object away at once, with finalizers and all. */
  remove(resource: ResourceName, name: string, namespace?: string): void {
    this.#drop(resourcePath(resource, name, namespace))
  }

  /** Everything that tells one state from another, for comparisons. */
  snapshot(): ReadonlyMap<string, Json> {
    return new Map(structuredClone([...this.#objects]))
  }

  async #intercept(request: FakeRequest): Promise<void> {
    if (request.verb !== 'get' && request.verb !== 'list') this.attempts.push(`${request.verb} ${request.path}`)
    // A request takes a turn, so that requests that are sent together overlap.
    await Promise.resolve()
    for (const see of this.#interceptors) await see(request)
  }

  async *#watch(path: string, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const events: WatchEvent[] = []
    let wake = () => {}
    const hear = (own: string, type: WatchEvent['type'], object: Json) => {
      const [list = '', query] = path.split('?')
      if (!own.startsWith(`${list}/`) || !matchesField(object, fieldSelectorOf(query))) return
      events.push({ type, object: structuredClone(object), size: 0 })
      wake()
    }
    this.#watchers.add(hear)
    signal.addEventListener('abort', () => wake(), { once: true })
    while (!signal.aborted) {
      const event = events.shift()
      if (event !== undefined) yield event
      else
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    }
    this.#watchers.delete(hear)
  }

  #list(whole: string, query: Record<string, unknown>) {
    const [path = '', inPath] = whole.split('?')
    const selector = query['fieldSelector'] ?? fieldSelectorOf(inPath)
    const items = this.#under(path).filter((object) => matchesField(object, selector))
    return { items: structuredClone(items), resourceVersion: String(this.#version) }
  }

  #require(path: string): Json {
    const object = this.#objects.get(path)
    if (object === undefined) throw new ApiError(404, 'NotFound', `GET ${path}: 404 not found`)
    return object
  }

  #under(path: string): readonly Json[] {
    const resource = resourceOf(`${path}/x`)
    const namespace = /\/namespaces\/([^/]+)\//.exec(`${path}/`)?.[1]
    return [...this.#objects].flatMap(([own, object]) =>
      resourceOf(own) === resource && (namespace === undefined || own.includes(`/namespaces/${namespace}/`))
        ? [object]
        : [],
    )
  }

  /** `count`: how many objects of the name were created. Each has a UID of its own. */
  #named(metadata: Partial<Meta> & Pick<Meta, 'name'>, count = 1): Meta {
    const {
      uid = `uid-${metadata.name}${count === 1 ? '' : `-${count}`}`,
      creationTimestamp = new Date().toISOString(),
    } = metadata
    return { ...metadata, uid, creationTimestamp, resourceVersion: '0' }
  }

  #create(path: string, body: Json): Json {
    const metadata = body['metadata'] as Meta
    const own = `${path}/${encodeURIComponent(metadata.name)}`
    if (this.#objects.has(own)) throw new ApiError(409, 'AlreadyExists', `POST ${path}: 409 ${metadata.name} exists`)
    const named = this.#named(metadata, (this.#created.get(own) ?? 0) + 1)
    this.#created.set(own, (this.#created.get(own) ?? 0) + 1)
    const created = keepingStatus(resourceOf(own), body)
    return structuredClone(this.#store(own, { ...created, metadata: { generation: 1, ...named } }))
  }

  #change(path: string, lock: Partial<Meta> | undefined, change: (object: Json) => Json): Json {
    const before = this.#require(path)
    const { uid, resourceVersion, deletionTimestamp, finalizers = [] } = before['metadata'] as Meta
    if (lock?.uid !== undefined && lock.uid !== uid)
      throw new ApiError(409, 'Conflict', `PATCH ${path}: 409 metadata.uid: field is immutable`)
    if (lock?.resourceVersion !== undefined && lock.resourceVersion !== resourceVersion)
      throw new ApiError(409, 'Conflict', `PATCH ${path}: 409 the object has been modified`)
    const after = change(structuredClone(before))
    const meta = after['metadata'] as Meta
    const added = ((meta['finalizers'] ?? []) as string[]).filter((one) => !(finalizers as string[]).includes(one))
    if (deletionTimestamp !== undefined && added.length > 0)
      throw new ApiError(
        422,
        'Invalid',
        `PATCH ${path}: 422 no new finalizers can be added if the object is being deleted`,
      )
    if (deletionTimestamp !== undefined && isNone(meta['finalizers'])) {
      this.#drop(path)
      return structuredClone(after)
    }
    if (isDeepStrictEqual(before, { ...after, metadata: { ...meta, resourceVersion } })) return structuredClone(before)
    const { generation = 1 } = before['metadata'] as { generation?: number }
    const isNew = isNewGeneration(resourceOf(path), before, after)
    return structuredClone(
      this.#store(path, isNew ? { ...after, metadata: { ...meta, generation: generation + 1 } } : after),
    )
  }

  #delete(path: string, { gracePeriodSeconds, ...preconditions }: DeleteOptions): Json {
    const object = this.#require(path)
    const meta = object['metadata'] as Meta
    for (const [field, wanted] of Object.entries(preconditions))
      if (wanted !== meta[field]) throw new ApiError(409, 'Conflict', `DELETE ${path}: 409 ${field}`)
    const grace = this.#graceOf(path, object, gracePeriodSeconds)
    if (isNone(meta['finalizers']) && grace === 0) return this.#drop(path)
    const ends = new Date(Date.now() + grace * 1000).toISOString()
    const earlier = meta['deletionTimestamp'] as string | undefined
    const deletionTimestamp = earlier !== undefined && earlier <= ends ? earlier : ends
    const deleting = { ...meta, deletionTimestamp, deletionGracePeriodSeconds: grace }
    if (resourceOf(path) === 'pods') this.#ends(path, meta.uid, grace)
    return structuredClone(this.#store(path, { ...object, metadata: deleting }))
  }

  /** Only a pod that runs on a node has time to end. */
  #graceOf(path: string, object: Json, asked: number | undefined): number {
    const { nodeName, terminationGracePeriodSeconds = 30 } = (object['spec'] ?? {}) as Record<
      string,
      number | undefined
    >
    if (resourceOf(path) !== 'pods' || nodeName === undefined) return 0
    return asked ?? terminationGracePeriodSeconds
  }

  /** The kubelet ends a pod that was told to go. */
  #ends(path: string, uid: string, graceSeconds: number): void {
    if (this.podsTakeMs === Number.POSITIVE_INFINITY) return
    setTimeout(
      () => {
        if ((this.#objects.get(path)?.['metadata'] as Meta | undefined)?.uid === uid) this.#drop(path)
      },
      Math.min(this.podsTakeMs, graceSeconds * 1000),
    )
  }

  #evict(path: string, uid: string): Json {
    const pod = this.#require(path)
    const { namespace } = pod['metadata'] as { namespace: string }
    const counted = budgetFor(pod, this.#under(resourcePath('poddisruptionbudgets', undefined, namespace)))
    if (counted !== undefined) {
      const { name } = counted.budget['metadata'] as Meta
      this.edit('poddisruptionbudgets', name, { status: { disruptionsAllowed: counted.left - 1 } }, namespace)
    }
    return this.#delete(path, { uid })
  }

  #store(path: string, object: Json): Json {
    this.#version += 1
    const stored = structuredClone({
      ...object,
      metadata: { ...withoutEmpty(object['metadata'] as Meta), resourceVersion: String(this.#version) },
    })
    const type = this.#objects.has(path) ? 'MODIFIED' : 'ADDED'
    this.#objects.set(path, stored)
    this.#notify((cache) => enter(cache, path, stored))
    for (const hear of this.#watchers) hear(path, type, stored)
    if (this.collectsGarbage) this.#collect()
    return stored
  }

  #drop(path: string): Json {
    const object = this.#require(path)
    this.#version += 1
    this.#objects.delete(path)
    const gone = { ...object, metadata: { ...(object['metadata'] as Meta), resourceVersion: String(this.#version) } }
    this.#notify((cache) => forget(cache, path))
    for (const hear of this.#watchers) hear(path, 'DELETED', gone)
    if (this.collectsGarbage) this.#collect()
    return structuredClone(gone)
  }

  /** Deletes what has lost its last owner. Names of objects of several kinds may be the same, and so their UIDs here. */
  #collect(): void {
    const owners = [...this.#objects.values()].map(({ kind, metadata }) => `${String(kind)}/${(metadata as Meta).uid}`)
    const present = new Set(owners)
    for (const [path, { metadata }] of this.#objects) {
      const { ownerReferences = [], deletionTimestamp } = metadata as {
        readonly ownerReferences?: readonly { readonly kind: string; readonly uid: string }[]
        readonly deletionTimestamp?: string
      }
      const isOrphan =
        ownerReferences.length > 0 && !ownerReferences.some(({ kind, uid }) => present.has(`${kind}/${uid}`))
      if (isOrphan && deletionTimestamp === undefined) this.#delete(path, {})
    }
  }

  #notify(about: (cache: ClusterCache) => void): void {
    for (const cache of this.#caches) {
      if (this.#isLagging) this.#withheld.push(() => about(cache))
      else about(cache)
    }
  }
}

function resourceOf(path: string): string {
  return path.split('/').at(-2) ?? ''
}

function enter(cache: ClusterCache, path: string, object: Json): void {
  const kind = resources[resourceOf(path) as ResourceName]
  if (kind !== undefined) cache.upsert(kind, structuredClone(object))
}

/** What is not in a list any more leaves the cache. */
function forget(cache: ClusterCache, path: string): void {
  const kind = resources[resourceOf(path) as ResourceName]
  if (kind !== undefined) void cache.catchUp([kind])
}
