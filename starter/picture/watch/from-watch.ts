import { type Logger, pino } from 'pino'
import { ListWatch } from '../../../activities/kubernetes/cache/list-watch.ts'
import { keyOf } from '../../../activities/kubernetes/cache/object-key.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { type ResourceName, resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import type { ObjectMeta } from '../../../core/objects.ts'
import { type Gaps, type Missing } from '../gaps.ts'
import { type KeptPrices, prices, waiting } from '../kept.ts'
import { missingOf, SourceError } from '../missing.ts'
import { type Part, readPicture } from '../picture.ts'
import { ClusterModel } from './cluster-model.ts'
import type { ClusterChange, ClusterView } from './cluster-view.ts'
import { claimFact, nodeFact, podFact } from './facts.ts'

export interface ClusterWatchOptions {
  /** Belongs to the caller, who closes it after the watch. */
  readonly client: KubernetesClient
  /** Joiner's namespace. */
  readonly namespace: string
  readonly log?: Logger
}

type Listener = (change: ClusterChange) => void

/** How the objects of a kind enter the model. */
interface WatchedKind {
  readonly resource: ResourceName
  readonly query?: string
  readonly known: (model: ClusterModel) => Iterable<string>
  /** `json` is undefined for an object that is gone. */
  readonly enter: (model: ClusterModel, key: string, json: Json | undefined) => void
}

const kinds: readonly WatchedKind[] = [
  {
    resource: 'nodes',
    known: (model) => model.nodeNames(),
    enter: (model, key, json) => model.setNode(key, json && nodeFact(json)),
  },
  {
    resource: 'nodeclaims',
    known: (model) => model.claimNames(),
    enter: (model, key, json) => model.setClaim(key, json && claimFact(json)),
  },
  {
    resource: 'nodepools',
    known: (model) => model.nodePoolNames(),
    enter: (model, key, json) => model.setNodePool(key, json !== undefined),
  },
  {
    resource: 'pods',
    query: '?fieldSelector=status.phase!%3DSucceeded%2Cstatus.phase!%3DFailed',
    known: (model) => model.podKeys(),
    enter: (model, key, json) => model.setPod(key, json && podFact(json)),
  },
]

/** Changes are reported no more often than this; the first one after a pause is reported soon. */
const gatherMs = 250
/** What belongs together, such as a node's claim and its pods, often comes within this time. */
const soonMs = 15
/** What ends by itself, such as a hold, is noticed within this time. */
const tickMs = 5000
/** The first view does not wait longer for a kind that cannot be listed. */
const firstViewMs = 60_000

/**
 * Watches a cluster with the rights of its client, and keeps a view of it. What it may not read is named in the view's `missing`; it asks again all
 * the time, so a right that is granted later, or an API server that comes back, needs no restart.
 */
export class ClusterWatch {
  readonly #client: KubernetesClient
  readonly #log: Logger
  readonly #model = new ClusterModel()
  readonly #listeners = new Set<Listener>()
  readonly #listed = new Set<ResourceName>()
  readonly #missing = new Map<ResourceName, Missing>()
  readonly #unreadable = new Set<string>()
  /** What is missing of Joiner's ConfigMaps. */
  readonly #ofKept = new Map<string, Gaps>()
  readonly #stops: (() => void)[] = []
  #gathering: NodeJS.Timeout | undefined
  #isStarted = false
  #reportedAtMs = 0

  private constructor({ client, log = pino({ level: 'silent' }) }: ClusterWatchOptions) {
    this.#client = client
    this.#log = log
  }

  /** Resolves when everything that can be listed was. Errors: the API server's first answer, when nothing can be listed. */
  static async start(options: ClusterWatchOptions): Promise<ClusterWatch> {
    const watch = new ClusterWatch(options)
    const limit = new Promise<undefined>((resolve) => {
      const timer = setTimeout(resolve, firstViewMs, undefined)
      watch.#stops.push(() => clearTimeout(timer))
    })
    const firsts = Promise.all(kinds.map((kind) => watch.#watch(kind)))
    const kept = Promise.all([watch.#followPrices(options), watch.#followWaiting(options)])
    const failures = await Promise.race([firsts, limit])
    const late = new Error(`no answer within ${firstViewMs / 1000} s`)
    if (watch.#listed.size === 0) {
      watch.close()
      throw failures?.[0] ?? late
    }
    for (const { resource } of kinds)
      if (!watch.#listed.has(resource) && !watch.#missing.has(resource)) watch.#miss(resource, late)
    await kept
    watch.#begin()
    return watch
  }

  /** The cluster now, as far as it was reported. */
  view(): ClusterView {
    return this.#model.view(Date.now())
  }

  /** Calls the listener with what changed, at most four times a second. Returns the function that removes it. */
  onChange(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Ends the watches. */
  close(): void {
    this.#isStarted = false
    clearTimeout(this.#gathering)
    this.#listeners.clear()
    for (const stop of this.#stops.splice(0)) stop()
  }

  #begin(): void {
    this.#isStarted = true
    this.#model.takeChange(Date.now())
    const tick = setInterval(() => {
      if (this.#model.isDirty(Date.now())) this.#gather()
    }, tickMs)
    this.#stops.push(() => clearInterval(tick))
  }

  /** Watches a kind. Resolves when it was listed; with the error when that failed. */
  #watch(kind: WatchedKind): Promise<unknown> {
    const { resource, query = '' } = kind
    return new Promise((resolve) => {
      const path = `${resourcePath(resource)}${query}`
      const watch = new ListWatch(
        { client: this.#client, path, log: this.#log },
        {
          listed: ({ items }) => {
            for (const item of items) this.#enter(kind, item)
          },
          replaced: (objects) => {
            this.#listed.add(resource)
            this.#keepOnly(kind, objects)
            this.#find(resource)
            resolve(undefined)
          },
          changed: (object) => this.#enter(kind, object),
          deleted: (object) => this.#remove(kind, keyOf(object['metadata'] as ObjectMeta)),
          reached() {},
          connected: (isConnected) => {
            if (isConnected) this.#find(resource)
          },
          failed: (error) => {
            if (!this.#missing.has(resource)) this.#miss(resource, error)
            resolve(error)
          },
        },
      )
      this.#stops.push(() => watch.stop())
      void watch.run()
    })
  }

  #enter(kind: WatchedKind, json: Json): void {
    const key = keyOf(json['metadata'] as ObjectMeta)
    const name = `${kind.resource} ${key}`
    try {
      kind.enter(this.#model, key, json)
      if (this.#unreadable.delete(name)) this.#tellGaps()
    } catch (error) {
      this.#log.warn({ object: name, err: error }, 'failed to decode object')
      this.#unreadable.add(name)
      this.#tellGaps()
    }
    this.#gather()
  }

  #remove(kind: WatchedKind, key: string): void {
    kind.enter(this.#model, key, undefined)
    if (this.#unreadable.delete(`${kind.resource} ${key}`)) this.#tellGaps()
    this.#gather()
  }

  /** Removes objects that are missing from a complete list. */
  #keepOnly(kind: WatchedKind, objects: readonly Json[]): void {
    const present = new Set(objects.map(({ metadata }) => keyOf(metadata as ObjectMeta)))
    for (const key of kind.known(this.#model)) if (!present.has(key)) this.#remove(kind, key)
  }

  #miss(resource: ResourceName, error: unknown): void {
    this.#missing.set(resource, missingOf(resource, error, this.#listed.has(resource) ? Date.now() : undefined))
    this.#tellGaps()
  }

  #find(resource: ResourceName): void {
    this.#missing.delete(resource)
    this.#tellGaps()
  }

  #tellGaps(): void {
    const kept = [...this.#ofKept.values()]
    const [odd] = this.#unreadable
    this.#model.setGaps({
      missing: [...this.#missing.values(), ...kept.flatMap(({ missing }) => missing)],
      damaged: [
        ...(odd
          ? [`${this.#unreadable.size} objects cannot be decoded, such as ${odd}; correct them or report it`]
          : []),
        ...kept.flatMap(({ damaged }) => damaged),
      ],
    })
    this.#gather()
  }

  #followPrices(scene: ClusterWatchOptions): Promise<void> {
    let readAtMs: number | undefined
    return this.#follow(scene, listedPrices, (list) => {
      if (list.readAtMs !== readAtMs) this.#model.setPrices(list.priceOf)
      readAtMs = list.readAtMs
    })
  }

  /** What the planner found about pending pods. */
  #followWaiting(scene: ClusterWatchOptions): Promise<void> {
    let writtenAtMs: number | undefined
    return this.#follow(scene, { part: waiting, everyMs: 5000 }, ({ atMs, classes }) => {
      if (atMs !== writtenAtMs) this.#model.setWaiting([...classes.values()])
      writtenAtMs = atMs
    })
  }

  /** Reads a ConfigMap of Joiner's again and again; by name, which needs no right to list them. Resolves after the first time. */
  #follow<T>(
    { client, namespace }: ClusterWatchOptions,
    { part, everyMs }: Followed<T>,
    enter: (read: T) => void,
  ): Promise<void> {
    const look = async () => {
      const { read, missing, damaged } = await readPicture({ client, namespace, now: Date.now() }, { read: part })
      if (read !== undefined) enter(read)
      // What is damaged is there.
      this.#ofKept.set(part.what, { missing: damaged.length === 0 ? missing : [], damaged })
      this.#tellGaps()
    }
    const timer = setInterval(() => void look(), everyMs)
    this.#stops.push(() => clearInterval(timer))
    return look()
  }

  #gather(): void {
    if (!this.#isStarted || this.#gathering !== undefined) return
    const waitMs = Math.max(soonMs, this.#reportedAtMs + gatherMs - Date.now())
    this.#gathering = setTimeout(() => {
      this.#gathering = undefined
      const now = Date.now()
      if (!this.#model.isDirty(now)) return
      this.#reportedAtMs = now
      const change = this.#model.takeChange(now)
      for (const listener of this.#listeners) listener(change)
    }, waitMs)
  }
}

interface Followed<T> {
  readonly part: Part<T>
  readonly everyMs: number
}

const listedPrices: Followed<KeptPrices> = {
  part: {
    ...prices,
    read: async (source) => {
      const { list } = await prices.read(source)
      if (list !== undefined) return list
      throw new SourceError(
        `there is none in the namespace "${source.namespace}"`,
        "give Joiner's namespace by --joiner-namespace",
      )
    },
  },
  everyMs: 60_000,
}
