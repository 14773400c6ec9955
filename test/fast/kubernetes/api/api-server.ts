import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../../../activities/kubernetes/client/api-error.ts'
import { timeText } from '../../../../core/values/time.ts'
import { budgetFor, isNewGeneration, keepingStatus } from '../../../fakes/api-rules.ts'
import { merged } from '../../../fakes/patches.ts'
import { SimulatedProcess } from '../../simulated-process.ts'
import { randomNumbers } from '../../virtual-clock.ts'
import { admitted } from './admission.ts'
import { Garbage } from './garbage.ts'
import { isSameJson, jsonCopy } from './json-copy.ts'
import { type Meta, metaOf, ObjectStore, placeOf } from './objects.ts'
import { namespaceOf, pathOf, resourceOf, targetOf } from './paths.ts'
import { heldToPolicies } from './policies.ts'
import { selection } from './selectors.ts'
import type { Change } from './watches.ts'

const isNone = (list: unknown) => (Array.isArray(list) ? list.length : 0) === 0

export interface DeleteOptions {
  readonly uid?: string
  readonly resourceVersion?: string
  readonly gracePeriodSeconds?: number
  readonly isDryRun?: boolean
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan'
}

/** How long an Event is kept after it was written last: the default of `--event-ttl`. */
const eventsStayMs = 3_600_000

/** Letters of generated names: no word comes of them. */
export const nameLetters = 'bcdfghjklmnpqrstvwxz2456789'

/**
 * The rules of an API server, without delay: resource versions and UIDs as locks, finalizers, grace periods, the status subresource, evictions under
 * PodDisruptionBudgets, defaults and refusals. Answers are not copies. Time is `Date.now`.
 */
export class ApiServer {
  readonly objects = new ObjectStore()
  /** How long pods take to end once they are told to, at most their grace period. Infinite: kubelets are silent, and pods stay. */
  podsTakeMs = 1000
  /** Whether objects go with their last owner, as the controller manager lets them go. */
  collectsGarbage = false
  /** Whether defaults are filled in, invalid objects refused, and Events let go after an hour. */
  admits = false
  readonly #garbage = new Garbage(this)
  readonly #created = new Map<string, number>()
  #random = randomNumbers(1)

  constructor() {
    this.objects.onChange((change) => {
      if (this.collectsGarbage) this.#garbage.after(change)
      if (this.admits && change.resource === 'events' && change.type !== 'DELETED') this.#letEnd(change)
    })
  }

  /** What generated names follow from. */
  set seed(seed: number) {
    this.#random = randomNumbers(seed)
  }

  /** A name that nothing has, with these letters at its start. */
  generatedName(start: string): string {
    const letters = Array.from({ length: 5 }, () => nameLetters[Math.floor(this.#random() * nameLetters.length)])
    return `${start}${letters.join('')}`
  }

  /** What a list has, by namespace and name. */
  list(url: string, query: Readonly<Record<string, unknown>> = {}): readonly Json[] {
    const { resource, namespace, query: inPath } = targetOf(url)
    const isSelected = selection({ ...Object.fromEntries(inPath), ...query })
    return this.objects
      .of(resource, namespace)
      .filter(isSelected)
      .sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
  }

  /** `count`: how many objects of the name were created. Each has a UID of its own. */
  named(metadata: Partial<Meta> & Pick<Meta, 'name'>, count = 1): Meta {
    const {
      uid = `uid-${metadata.name}${count === 1 ? '' : `-${count}`}`,
      creationTimestamp = new Date().toISOString(),
    } = metadata
    return { ...metadata, uid, creationTimestamp, resourceVersion: '0' }
  }

  create(list: string, body: Json): Json {
    const given = (body['metadata'] ?? {}) as Partial<Meta> & { readonly generateName?: string }
    const name = given.name ?? this.generatedName(given.generateName ?? '')
    const namespace = namespaceOf(`${list}/`)
    const metadata = { ...(namespace === undefined ? {} : { namespace }), ...given, name }
    const own = `${list}/${encodeURIComponent(name)}`
    if (this.objects.find(own) !== undefined)
      throw new ApiError(409, 'AlreadyExists', `POST ${list}: 409 ${name} exists`)
    const resource = resourceOf(own)
    const object = keepingStatus(resource, { ...body, metadata })
    const complete = this.admits ? admitted({ resource, path: own, objects: this.objects }, object) : object
    if (this.admits) heldToPolicies(this.objects, { list, resource, object: complete })
    const count = (this.#created.get(own) ?? 0) + 1
    const named = this.named({ ...metadata, ...metaOf(complete), ...this.#identity(metadata, count) }, count)
    this.#created.set(own, count)
    return this.objects.store(own, { ...complete, metadata: { generation: 1, ...named } })
  }

  /** Replaces an object by what `change` makes of it, which changes nothing in what it is given. `lock`: the metadata of the request. */
  change(path: string, lock: Partial<Meta> | undefined, change: (object: Json) => Json): Json {
    const before = this.objects.require(path)
    const { uid, resourceVersion, deletionTimestamp, finalizers = [], generation = 1 } = metaOf(before)
    if (lock?.uid !== undefined && lock.uid !== uid)
      throw new ApiError(409, 'Conflict', `PATCH ${path}: 409 metadata.uid: field is immutable`)
    if (lock?.resourceVersion !== undefined && lock.resourceVersion !== resourceVersion)
      throw new ApiError(409, 'Conflict', `PATCH ${path}: 409 the object has been modified`)
    const changed = change(before)
    const resource = resourceOf(path)
    const after = this.admits ? admitted({ resource, path, objects: this.objects }, changed, before) : changed
    const meta = metaOf(after)
    const added = (meta.finalizers ?? []).filter((one) => !finalizers.includes(one))
    if (deletionTimestamp !== undefined && added.length > 0)
      throw new ApiError(
        422,
        'Invalid',
        `PATCH ${path}: 422 no new finalizers can be added if the object is being deleted`,
      )
    if (deletionTimestamp !== undefined && isNone(meta.finalizers) && !this.#hasTime(resource, before)) {
      this.objects.drop(path)
      return after
    }
    if (isSameJson(before, { ...after, metadata: { ...meta, resourceVersion } })) return before
    const isNew = isNewGeneration(resource, before, after)
    return this.objects.store(path, isNew ? { ...after, metadata: { ...meta, generation: generation + 1 } } : after)
  }

  /** Changes an object behind everybody's back, as another client of the API server does. */
  edit(path: string, change: Json): void {
    this.objects.store(path, merged(this.objects.require(path), jsonCopy(change)))
  }

  delete(
    path: string,
    { gracePeriodSeconds, propagationPolicy, isDryRun, ...preconditions }: DeleteOptions = {},
  ): Json {
    const object = this.objects.require(path)
    const meta = metaOf(object)
    for (const [field, wanted] of Object.entries(preconditions))
      if (wanted !== undefined && wanted !== meta[field])
        throw new ApiError(409, 'Conflict', `DELETE ${path}: 409 ${field}`)
    if (isDryRun === true) return object
    if (propagationPolicy === 'Orphan') this.#garbage.orphan(object)
    if (propagationPolicy === 'Foreground' && meta.deletionTimestamp === undefined) {
      const deletionTimestamp = this.#time(Date.now())
      const metadata = { ...Garbage.waiting(meta), deletionTimestamp, deletionGracePeriodSeconds: 0 }
      return this.objects.store(path, { ...object, metadata })
    }
    const grace = this.#graceOf(path, object, gracePeriodSeconds)
    if (isNone(meta.finalizers) && grace === 0) return this.objects.drop(path)
    const ends = this.#time(Date.now() + grace * 1000)
    if (resourceOf(path) === 'pods') this.#ends(path, meta.uid, grace)
    // It can only become shorter.
    if (meta.deletionTimestamp !== undefined && meta.deletionTimestamp <= ends) return object
    const deleting = { ...meta, deletionTimestamp: ends, deletionGracePeriodSeconds: grace }
    return this.objects.store(path, { ...object, metadata: deleting })
  }

  /** Evicts a pod. Errors: 429 where a PodDisruptionBudget forbids it. */
  evict(path: string, options: DeleteOptions = {}): Json {
    const pod = this.objects.require(path)
    const { namespace = 'default', deletionTimestamp } = metaOf(pod)
    const budgets = this.objects.of('poddisruptionbudgets', namespace)
    const counted = deletionTimestamp === undefined ? budgetFor(pod, budgets) : undefined
    if (counted !== undefined) {
      const budget = pathOf('poddisruptionbudgets', metaOf(counted.budget).name, namespace)
      this.edit(budget, { status: { disruptionsAllowed: counted.left - 1 } })
    }
    return this.delete(path, options)
  }

  /** Binds a pod to a Node, whose region and zone it has as labels from then on. Errors: 409 where it is bound already. */
  bind(path: string, nodeName: string): Json {
    const { spec } = this.objects.require(path)
    if ((spec as Json)['nodeName'] !== undefined)
      throw new ApiError(409, 'Conflict', `POST ${path}/binding: 409 the pod is assigned to a node already`)
    const time = new Date().toISOString()
    const scheduled = { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: time }
    const node = this.admits ? this.objects.find(pathOf('nodes', nodeName)) : undefined
    const places = Object.entries(node === undefined ? {} : (metaOf(node).labels ?? {})).filter(
      ([key]) => key === 'topology.kubernetes.io/region' || key === 'topology.kubernetes.io/zone',
    )
    return this.change(path, undefined, ({ metadata, spec: podSpec, status, ...rest }) => {
      const own = metadata as Meta
      const labels = places.length === 0 ? {} : { labels: { ...own.labels, ...Object.fromEntries(places) } }
      const { conditions = [], ...others } = (status ?? {}) as { readonly conditions?: readonly Json[] }
      const kept = conditions.filter(({ type }) => type !== 'PodScheduled')
      return {
        ...rest,
        metadata: { ...own, ...labels },
        spec: { ...(podSpec as Json), nodeName },
        status: { ...others, conditions: [...kept, scheduled] },
      }
    })
  }

  /**
   * A real server tells no fractions of seconds, and objects of one name in two namespaces apart; those that follow each other by the first eight
   * characters of their UIDs, none of which is a dash.
   */
  #identity({ name, namespace = 'default' }: { name: string; namespace?: string }, count: number): Partial<Meta> {
    if (!this.admits) return {}
    const own = namespace === 'default' ? name : `${namespace}-${name}`
    return { uid: `${String(count).padStart(8, '0')}-${own}`, creationTimestamp: this.#time(Date.now()) }
  }

  #time(ms: number): string {
    return this.admits ? timeText(ms) : new Date(ms).toISOString()
  }

  /** Only a pod that runs on a node has time to end. */
  #graceOf(path: string, object: Json, asked: number | undefined): number {
    const { nodeName, terminationGracePeriodSeconds = 30 } = (object['spec'] ?? {}) as Record<
      string,
      number | undefined
    >
    const { phase } = (object['status'] ?? {}) as { readonly phase?: string }
    const hasEnded = phase === 'Succeeded' || phase === 'Failed'
    if (resourceOf(path) !== 'pods' || nodeName === undefined || hasEnded) return 0
    return asked ?? terminationGracePeriodSeconds
  }

  /** Whether a pod that is being deleted has not ended yet. */
  #hasTime(resource: string, object: Json): boolean {
    return resource === 'pods' && Number(metaOf(object)['deletionGracePeriodSeconds'] ?? 0) > 0
  }

  /** An Event goes by itself, unless it is written again meanwhile. Watches hear of a deletion. */
  #letEnd({ path, object }: Change): void {
    const end = () => {
      if (this.objects.find(path) === object) this.objects.drop(path)
    }
    SimulatedProcess.outside(() => setTimeout(end, eventsStayMs).unref())
  }

  /** The kubelet ends a pod that was told to go. */
  #ends(path: string, uid: string, graceSeconds: number): void {
    if (this.podsTakeMs === Number.POSITIVE_INFINITY) return
    const end = () => {
      const pod = this.objects.find(path)
      if (pod !== undefined && metaOf(pod).uid === uid) this.objects.drop(path)
    }
    SimulatedProcess.outside(() => setTimeout(end, Math.min(this.podsTakeMs, graceSeconds * 1000)))
  }
}
