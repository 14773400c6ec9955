import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../../../activities/kubernetes/client/api-error.ts'
import { withoutEmpty } from '../../../fakes/api-rules.ts'
import { namespaceOf, resourceOf } from './paths.ts'
import { type Change, Watches } from './watches.ts'

export type Meta = Record<string, unknown> & {
  name: string
  namespace?: string
  uid: string
  resourceVersion: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly deletionTimestamp?: string
  readonly creationTimestamp?: string
  readonly generation?: number
  readonly ownerReferences?: readonly OwnerReference[]
}

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export const metaOf = (object: Json) => object['metadata'] as Meta

/** What lists are sorted by. */
export const placeOf = (object: Json) => `${metaOf(object).namespace ?? ''}/${metaOf(object).name}`

/** Lists that an object is in: of its resource, and of that in its namespace. */
function placesOf(path: string): readonly string[] {
  const [resource, namespace] = [resourceOf(path), namespaceOf(path)]
  return namespace === undefined ? [resource] : [resource, `${namespace}/${resource}`]
}

/** Objects by path with their versions, and who is told of changes. What is stored is never changed, only replaced. */
export class ObjectStore {
  readonly #objects = new Map<string, Json>()
  /** Those of a resource, by its name, and of these those of a namespace, by both. */
  readonly #byPlace = new Map<string, Map<string, Json>>()
  readonly #listeners = new Set<(change: Change) => void>()
  /** How many objects have a kind and a UID: names of objects of several kinds may be the same, and so their UIDs here. */
  readonly #identities = new Map<string, number>()
  #version = 10
  readonly watches = new Watches(() => this.#version)

  get version(): string {
    return String(this.#version)
  }

  /** Calls back after each change, before anything else happens. Returns what ends it. */
  onChange(hear: (change: Change) => void): () => void {
    this.#listeners.add(hear)
    return () => void this.#listeners.delete(hear)
  }

  find(path: string): Json | undefined {
    return this.#objects.get(path)
  }

  /** Errors: 404. */
  require(path: string): Json {
    const object = this.#objects.get(path)
    if (object === undefined) throw new ApiError(404, 'NotFound', `GET ${path}: 404 not found`)
    return object
  }

  /** All objects of a resource, or those in a namespace, in the order of their creation. Not copies. */
  of(resource: string, namespace?: string): readonly Json[] {
    const place = namespace === undefined ? resource : `${namespace}/${resource}`
    return [...(this.#byPlace.get(place)?.values() ?? [])]
  }

  /** Whether there is an object of this kind and UID. */
  has({ kind, uid }: Pick<OwnerReference, 'kind' | 'uid'>): boolean {
    return (this.#identities.get(`${kind}/${uid}`) ?? 0) > 0
  }

  /** All objects by path. */
  all(): ReadonlyMap<string, Json> {
    return this.#objects
  }

  /** From now on nobody changes what the object consists of: it may be part of what was stored before. */
  store(path: string, object: Json): Json {
    this.#version += 1
    const stored = { ...object, metadata: { ...withoutEmpty(metaOf(object)), resourceVersion: this.version } }
    const before = this.#objects.get(path)
    const resource = resourceOf(path)
    for (const place of placesOf(path)) {
      const there = this.#byPlace.get(place) ?? new Map<string, Json>()
      this.#byPlace.set(place, there.set(path, stored))
    }
    this.#objects.set(path, stored)
    if (before === undefined || before['kind'] !== object['kind'] || metaOf(before).uid !== metaOf(stored).uid) {
      this.#count(before, -1)
      this.#count(stored, 1)
    }
    const change = { resource, path, object: stored, version: this.#version }
    this.#tell(before === undefined ? { ...change, type: 'ADDED' } : { ...change, type: 'MODIFIED', before })
    return stored
  }

  /** Takes an object away. Errors: 404. */
  drop(path: string): Json {
    const before = this.require(path)
    this.#version += 1
    const resource = resourceOf(path)
    this.#objects.delete(path)
    this.#count(before, -1)
    for (const place of placesOf(path)) this.#byPlace.get(place)?.delete(path)
    const object = { ...before, metadata: { ...metaOf(before), resourceVersion: this.version } }
    this.#tell({ type: 'DELETED', resource, path, object, before, version: this.#version })
    return object
  }

  #count(object: Json | undefined, by: number): void {
    if (object === undefined) return
    const identity = `${String(object['kind'])}/${metaOf(object).uid}`
    this.#identities.set(identity, (this.#identities.get(identity) ?? 0) + by)
  }

  #tell(change: Change): void {
    this.watches.note(change)
    for (const hear of this.#listeners) hear(change)
  }
}
