import { type Logger, pino } from 'pino'
import { ListWatch } from '../../activities/kubernetes/cache/list-watch.ts'
import { keyOf } from '../../activities/kubernetes/cache/object-key.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { isForbidden, isNotFound } from '../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { type ResourceName, resourcePath } from '../../activities/kubernetes/client/resources.ts'
import type { ObjectMeta } from '../../core/objects.ts'
import { printableStart } from '../../core/values/printable.ts'
import { timeText } from '../../core/values/time.ts'
import { prices, waiting } from '../picture/kept.ts'
import { missingLines } from '../picture/missing.ts'
import { type Part, readPicture } from '../picture/picture.ts'
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
  readonly #missing = new Map<string, string>()
  readonly #unreadable = new Set<string>()
  readonly #unlisted = new Set<string>(kinds.map(({ resource }) => resource))
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
    const kept = followKeptFacts({
      ...options,
      model: watch.#model,
      note: (subject, text) => watch.#note(subject, text),
      now: Date.now,
    })
    watch.#stops.push(kept.stop)
    const failures = await Promise.race([firsts, limit])
    const late = new Error(`no answer within ${firstViewMs / 1000} s`)
    if (watch.#unlisted.size === kinds.length) {
      watch.close()
      throw failures?.[0] ?? late
    }
    for (const { resource } of kinds)
      if (watch.#unlisted.has(resource) && !watch.#missing.has(resource))
        watch.#note(resource, missingText(resource, late, { sinceMs: Date.now(), isListed: false }))
    await kept.first
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
      let isListed = false
      const path = `${resourcePath(resource)}${query}`
      const watch = new ListWatch(
        { client: this.#client, path, log: this.#log },
        {
          listed: ({ items }) => {
            for (const item of items) this.#enter(kind, item)
          },
          replaced: (objects) => {
            isListed = true
            this.#unlisted.delete(resource)
            this.#tellMissing()
            this.#keepOnly(kind, objects)
            this.#note(resource, undefined)
            resolve(undefined)
          },
          changed: (object) => this.#enter(kind, object),
          deleted: (object) => this.#remove(kind, keyOf(object['metadata'] as ObjectMeta)),
          reached() {},
          connected: (isConnected) => {
            if (isConnected) this.#note(resource, undefined)
          },
          failed: (error) => {
            if (!this.#missing.has(resource))
              this.#note(resource, missingText(resource, error, { sinceMs: Date.now(), isListed }))
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
      if (this.#unreadable.delete(name)) this.#noteUnreadable()
    } catch (error) {
      this.#log.warn({ object: name, err: error }, 'failed to decode object')
      this.#unreadable.add(name)
      this.#noteUnreadable()
    }
    this.#gather()
  }

  #remove(kind: WatchedKind, key: string): void {
    kind.enter(this.#model, key, undefined)
    if (this.#unreadable.delete(`${kind.resource} ${key}`)) this.#noteUnreadable()
    this.#gather()
  }

  /** Removes objects that are missing from a complete list. */
  #keepOnly(kind: WatchedKind, objects: readonly Json[]): void {
    const present = new Set(objects.map(({ metadata }) => keyOf(metadata as ObjectMeta)))
    for (const key of kind.known(this.#model)) if (!present.has(key)) this.#remove(kind, key)
  }

  #noteUnreadable(): void {
    const [first] = this.#unreadable
    this.#note(
      'unreadable',
      first && `${this.#unreadable.size} objects cannot be decoded, such as ${first}; correct them or report it`,
    )
  }

  /** Notes what is missing about a subject; undefined: nothing is. */
  #note(subject: string, text: string | undefined): void {
    if (this.#missing.get(subject) !== text) {
      if (text === undefined) this.#missing.delete(subject)
      else this.#missing.set(subject, text)
      this.#tellMissing()
    }
    this.#gather()
  }

  #tellMissing(): void {
    this.#model.setMissing([...this.#missing.values()], [...this.#unlisted])
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

const longestReason = 200

/** Returns why a kind is not shown, or not shown as it is now, with the remedy. `sinceMs`: when it failed first. */
export function missingText(
  resource: ResourceName,
  error: unknown,
  { sinceMs, isListed }: { readonly sinceMs: number; readonly isListed: boolean },
): string {
  if (isForbidden(error)) {
    const [verb, shown] = isListed ? ['watch', `, so they are shown as of ${timeText(sinceMs)}`] : ['list', '']
    return `${resource}: you may not ${verb} them${shown}; ask for a role that lists and watches them (kubectl auth can-i watch ${resource} --all-namespaces)`
  }
  if (isNotFound(error))
    return `${resource}: the cluster does not know the kind; install the CRDs where Joiner runs (joiner admin crds apply)`
  const reason = printableStart(error instanceof Error ? error.message || error.name : String(error), longestReason)
  const shown = isListed ? 'shown as of then' : 'not shown yet'
  return `${resource}: the API server is not reached since ${timeText(sinceMs)} (${reason}); ${shown}, trying again`
}

/** Where Joiner keeps its facts, and what becomes of them. */
interface KeptOptions {
  readonly client: KubernetesClient
  /** Joiner's namespace. */
  readonly namespace: string
  readonly model: ClusterModel
  /** Notes what is missing about a subject; undefined: nothing is. Called after each reading. */
  readonly note: (subject: string, text: string | undefined) => void
  readonly now: () => number
}

const pricesEveryMs = 60_000
const waitingEveryMs = 5000

/**
 * Reads Joiner's ConfigMaps again and again: prices, and what its planner found about pending pods. Reading by name needs no right to list them.
 * Returns the function that ends it, and the first readings.
 */
function followKeptFacts({ client, namespace, model, note, now }: KeptOptions) {
  let readAtMs: number | undefined
  let writtenAtMs: number | undefined

  /** `enter` returns what is missing nevertheless. */
  async function look<T>(subject: string, part: Part<T>, enter: (read: T) => string | undefined): Promise<void> {
    const { read, missing, damaged } = await readPicture({ client, namespace, now: now() }, { read: part })
    const odd = read === undefined ? undefined : enter(read)
    const [lost] = missingLines(missing)
    const [text] = [...damaged, ...(odd === undefined ? [] : [odd])]
    note(subject, lost === undefined ? text && `${subject}: ${text}` : `${subject} not known: ${lost}`)
  }

  const lookAtPrices = () =>
    look('prices', prices, ({ list }) => {
      if (list === undefined)
        return `there is no ConfigMap joiner-prices in the namespace "${namespace}"; give Joiner's namespace by --joiner-namespace`
      if (list.readAtMs !== readAtMs) model.setPrices(list.priceOf)
      readAtMs = list.readAtMs
      return undefined
    })
  const lookAtWaiting = () =>
    look('pending pods', waiting, ({ atMs, classes }) => {
      if (atMs !== writtenAtMs) model.setWaiting([...classes.values()])
      writtenAtMs = atMs
      return undefined
    })

  const timers = [
    setInterval(() => void lookAtPrices(), pricesEveryMs),
    setInterval(() => void lookAtWaiting(), waitingEveryMs),
  ]
  return {
    first: Promise.all([lookAtPrices(), lookAtWaiting()]),
    stop: () => {
      for (const timer of timers) clearInterval(timer)
    },
  }
}
