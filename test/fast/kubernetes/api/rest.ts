import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../../../activities/kubernetes/client/api-error.ts'
import type { Operation } from '../../../../activities/kubernetes/client/json-patch.ts'
import { namespace, operatorAccount } from '../../../../deploy/local/installation-accounts.ts'
import { keepingStatus } from '../../../fakes/api-rules.ts'
import { merged, operated } from '../../../fakes/patches.ts'
import type { ApiServer, DeleteOptions } from './api-server.ts'
import { jsonCopy, sentCopy } from './json-copy.ts'
import { type Meta, metaOf, placeOf } from './objects.ts'
import { type Target, targetOf } from './paths.ts'
import { replicasFieldOf } from './schema.ts'
import { AppliedObjects } from './server-side-apply.ts'
import { strategicallyMerged } from './strategic-merge.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
export type PatchType = 'merge' | 'strategic-merge' | 'json' | 'apply'

export interface RestRequest {
  readonly method: Method
  /** Path and query. */
  readonly url: string
  readonly body?: unknown
  /** How a PATCH is applied. Default `merge`. */
  readonly patch?: PatchType
}

interface ScaleRequest {
  readonly resource: string
  readonly body: unknown
  readonly patch: PatchType
}

interface DeleteBody {
  readonly dryRun?: readonly ['All']
  readonly preconditions?: Pick<DeleteOptions, 'uid' | 'resourceVersion'>
  readonly gracePeriodSeconds?: number
  readonly propagationPolicy?: DeleteOptions['propagationPolicy']
}

const success = { apiVersion: 'v1', kind: 'Status', status: 'Success' }
/** The version that the server says it has. */
export const serverVersion = 'v1.36.3'

/** Answers requests as they travel. Objects in answers are not copies. */
export class Rest {
  readonly #server: ApiServer
  readonly #applied = new AppliedObjects()

  constructor(server: ApiServer) {
    this.#server = server
    server.objects.onChange(({ type, path }) => {
      if (type === 'DELETED') this.#applied.forget(path)
    })
  }

  /** Errors: `ApiError`, as a real server refuses. */
  answer({ method, url, body: sent, patch = 'merge' }: RestRequest): Json {
    const body = sentCopy(sent)
    const target = targetOf(url)
    if (method === 'GET' && /^\/(version|readyz|livez)/.test(url)) return { gitVersion: serverVersion }
    const { list, path, subresource } = target
    if (path === undefined) return this.#ofList(method, target, body)
    if (subresource !== undefined && subresource !== 'status')
      return this.#ofSubresource(path, target, { method, url, body, patch })
    switch (method) {
      case 'GET':
        return this.#server.objects.require(path)
      case 'DELETE':
        return this.#server.delete(path, deleteOptions(target, body as DeleteBody | undefined))
      case 'PUT':
        return this.#change(target, body as Json, () => body as Json)
      case 'PATCH':
        return patch === 'apply'
          ? this.#apply(target, body as Json)
          : this.#change(target, patch === 'json' ? undefined : (body as Json), (object) =>
              patched(object, body, patch),
            )
      case 'POST':
        throw new ApiError(405, 'MethodNotAllowed', `POST ${list}: 405 a name is not allowed`)
    }
  }

  #ofSubresource(path: string, target: Target, { method, url, body, patch = 'merge' }: RestRequest): Json {
    switch (target.subresource) {
      case 'eviction':
        this.#server.evict(path, deleteOptions(target, (body as { readonly deleteOptions?: DeleteBody }).deleteOptions))
        return success
      case 'binding':
        this.#server.bind(path, (body as { readonly target: { readonly name: string } }).target.name)
        return success
      case 'scale':
        return this.#scale(method, path, { resource: target.resource, body, patch })
      default:
        throw new ApiError(404, 'NotFound', `${method} ${url}: 404 the server could not find the requested resource`)
    }
  }

  #ofList(method: Method, target: Target, body: unknown): Json {
    const { list, query } = target
    switch (method) {
      case 'GET':
        return this.#page(target)
      case 'POST':
        if (list.startsWith('/apis/authorization.k8s.io/')) return { ...(body as Json), status: { allowed: true } }
        if (list === '/apis/authentication.k8s.io/v1/selfsubjectreviews')
          return {
            ...(body as Json),
            status: { userInfo: { username: `system:serviceaccount:${namespace}:${operatorAccount}` } },
          }
        return this.#server.create(list, body as Json)
      case 'DELETE':
        for (const object of this.#server.list(list, Object.fromEntries(query)))
          this.#server.delete(
            `${listOf(target, object)}/${metaOf(object).name}`,
            deleteOptions(target, body as DeleteBody | undefined),
          )
        return success
      default:
        throw new ApiError(405, 'MethodNotAllowed', `${method} ${list}: 405`)
    }
  }

  /** A list or a page of it, which begins where the page before ended. Errors: 410 where the version of the first page is forgotten. */
  #page({ list, query }: Target): Json {
    const { version, watches } = this.#server.objects
    const limit = Number(query.get('limit') ?? 0)
    const [first = '', after = ''] = (query.get('continue') ?? `${version}|`).split('|')
    const all = this.#server.list(list, Object.fromEntries(query))
    if (query.has('continue') && watches.isForgotten(first))
      throw new ApiError(410, 'Expired', `GET ${list}: 410 The provided continue parameter is too old`)
    const rest = after === '' ? all : all.filter((object) => placeOf(object) > after)
    const items = limit > 0 ? rest.slice(0, limit) : rest
    const last = items.at(-1)
    const more = last !== undefined && rest.length > items.length ? { continue: `${first}|${placeOf(last)}` } : {}
    return {
      apiVersion: 'v1',
      kind: 'List',
      metadata: { resourceVersion: first, ...more },
      items,
    }
  }

  /** A change of an object, or of its status alone. */
  #change({ path = '', resource, subresource }: Target, lock: Json | undefined, change: (object: Json) => Json): Json {
    return this.#server.change(path, lock?.['metadata'] as Partial<Meta> | undefined, (before) => {
      const after = change(before)
      if (subresource === 'status') return { ...before, status: after['status'] }
      return keepingStatus(resource, { ...after, metadata: metadataAfter(metaOf(before), metaOf(after)) }, before)
    })
  }

  #apply(target: Target, applied: Json): Json {
    const { path = '', list, query } = target
    const applier = { manager: query.get('fieldManager') ?? 'kubectl', force: query.get('force') === 'true' }
    const before = this.#server.objects.find(path)
    const object =
      before === undefined
        ? this.#server.create(list, applied)
        : this.#change(target, applied, (now) => this.#applied.next(path, applier, { before: now, applied }))
    this.#applied.note(path, applier, applied)
    return object
  }

  /** The replicas of a workload. */
  #scale(method: Method, path: string, { resource, body, patch }: ScaleRequest): Json {
    const scaleOf = (object: Json) => ({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: object['metadata'],
      // None is not written.
      spec: replicasOf(object) === 0 ? {} : { replicas: replicasOf(object) },
      status: { replicas: ((object['status'] ?? {}) as Json)[replicasFieldOf(resource)] ?? 0 },
    })
    if (method === 'GET') return scaleOf(this.#server.objects.require(path))
    const after = this.#server.change(path, undefined, (object) => {
      const scale = method === 'PUT' ? (body as Json) : patched(scaleOf(object), body, patch)
      return { ...object, spec: { ...(object['spec'] as Json), replicas: replicasOf(scale) } }
    })
    return scaleOf(after)
  }
}

function patched(object: Json, body: unknown, patch: PatchType): Json {
  if (patch === 'json') return operated(jsonCopy(object), body as readonly Operation[])
  return patch === 'strategic-merge' ? strategicallyMerged(object, body as Json) : merged(object, body as Json)
}

/** What only the server writes. */
const own: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'generation',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
])

const replicasOf = (object: Json) => Number((object['spec'] as Json)['replicas'] ?? 0)

/** Metadata as a change leaves it: what only the server writes is as it was. */
function metadataAfter(before: Meta, after: Meta): Json {
  const metadata: Json = {}
  for (const key of own) if (key in before) metadata[key] = before[key]
  for (const key in after) if (!own.has(key)) metadata[key] = after[key]
  return metadata
}

function listOf({ list, resource, namespace }: Target, object: Json): string {
  const { namespace: own } = metaOf(object)
  return namespace !== undefined || own === undefined
    ? list
    : list.replace(`/${resource}`, `/namespaces/${own}/${resource}`)
}

function deleteOptions({ query }: Target, body: DeleteBody = {}): DeleteOptions {
  const grace = query.get('gracePeriodSeconds') ?? body.gracePeriodSeconds
  const propagationPolicy = (query.get('propagationPolicy') ??
    body.propagationPolicy) as DeleteOptions['propagationPolicy']
  return {
    ...body.preconditions,
    ...(grace === undefined ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(body.dryRun === undefined ? {} : { isDryRun: true }),
  }
}
