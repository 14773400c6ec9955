import type { Logger } from 'pino'
import type { NodeClass } from '../../../api/objects.ts'
import { isAksMachine } from '../../../core/node-claim/aks-machine.ts'
import { isInterrupted, type NodeRules, noNodeRules } from '../../../core/node-claim/node-health.ts'
import type { Node, NodeClaim, NodePool, ObjectMeta, Pod, PodDisruptionBudget } from '../../../core/objects.ts'
import type {
  CsiNode,
  DaemonSet,
  Namespace,
  PersistentVolume,
  PersistentVolumeClaim,
  PodController,
  Service,
  StorageClass,
  VolumeAttachment,
} from '../../../core/pods/related-objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { pauseFor } from '../../activity-context.ts'
import type { Json, KubernetesClient, ListResult } from '../client/client.ts'
import { resourcePath } from '../client/resources.ts'
import { type CachedKind, type CachedObject, type CacheUse, kindRules, kindsFor } from './cached-kinds.ts'
import { LargeObjects, withoutNames } from './large-objects.ts'
import { decoded, LargeReader } from './large-reader.ts'
import { ListWatch, readList } from './list-watch.ts'
import { Store } from './store.ts'

export type { CachedKind, CachedObject } from './cached-kinds.ts'

/** Objects that cannot be read are remembered up to this number, so that each is logged once. */
const mostReported = 10_000

/** Which changes matter to a wait. Called for every change of the cluster, so it must be cheap. */
export type ChangeFilter = (...change: Parameters<ChangeListener>) => boolean

export type ChangeListener = (
  kind: CachedKind,
  key: string,
  before: CachedObject | undefined,
  after: CachedObject | undefined,
) => void

/**
 * The cluster as the watches tell it, in the shapes that decisions use; each object is decoded once per event.
 * Invariants: an older resource version never replaces a newer one; a deleted object does not come back by a late event;
 * what this process wrote can be entered at once (`upsert`).
 */
export class ClusterCache {
  readonly pods = new Store<Pod>({
    byNode: (pod) => pod.nodeName,
    byDoNotDisrupt: ({ metadata }) =>
      metadata.annotations[annotations.doNotDisrupt] === undefined ? undefined : 'set',
  })
  readonly nodes = new Store<Node>({ byProviderId: (node) => node.providerId?.toLowerCase() })
  readonly nodeClaims = new Store<NodeClaim>({ byProviderId: (claim) => claim.status.providerId?.toLowerCase() })
  readonly nodePools = new Store<NodePool>()
  readonly nodeClasses = new Store<NodeClass>()
  readonly daemonSets = new Store<DaemonSet>()
  readonly podDisruptionBudgets = new Store<PodDisruptionBudget>()
  readonly volumeAttachments = new Store<VolumeAttachment>({ byNode: (attachment) => attachment.nodeName })
  readonly namespaces = new Store<Namespace>()
  readonly persistentVolumeClaims = new Store<PersistentVolumeClaim>()
  readonly persistentVolumes = new Store<PersistentVolume>()
  readonly storageClasses = new Store<StorageClass>()
  readonly csiNodes = new Store<CsiNode>()
  readonly services = new Store<Service>()
  readonly replicaSets = new Store<PodController>()
  readonly statefulSets = new Store<PodController>()
  readonly replicationControllers = new Store<PodController>()

  readonly #client: KubernetesClient
  readonly #log: Logger
  readonly #listeners = new Set<ChangeListener>()
  readonly #watches: ListWatch[] = []
  readonly #kinds: readonly CachedKind[]
  readonly #stores: Readonly<Record<CachedKind, Store<CachedObject>>>
  readonly #unsynced: Set<CachedKind>
  readonly #nodeRules: NodeRules
  readonly #large = new LargeObjects()
  readonly #reader: LargeReader
  /** Versions of objects that could not be read, by kind and key. */
  readonly #reported = new Map<string, string>()
  #onSynced: (() => void)[] = []

  /** Kinds that `use` does not need are not watched: their stores stay empty. */
  constructor(client: KubernetesClient, log: Logger, use: CacheUse = {}) {
    this.#client = client
    this.#log = log
    this.#reader = new LargeReader(log)
    this.#nodeRules = use.nodeRules ?? noNodeRules
    const all = <T extends CachedObject>(store: Store<T>) => store as unknown as Store<CachedObject>
    this.#stores = {
      Pod: all(this.pods),
      Node: all(this.nodes),
      NodeClaim: all(this.nodeClaims),
      NodePool: all(this.nodePools),
      AKSNodeClass: all(this.nodeClasses),
      DaemonSet: all(this.daemonSets),
      PodDisruptionBudget: all(this.podDisruptionBudgets),
      VolumeAttachment: all(this.volumeAttachments),
      Namespace: all(this.namespaces),
      PersistentVolumeClaim: all(this.persistentVolumeClaims),
      PersistentVolume: all(this.persistentVolumes),
      StorageClass: all(this.storageClasses),
      CSINode: all(this.csiNodes),
      Service: all(this.services),
      ReplicaSet: all(this.replicaSets),
      StatefulSet: all(this.statefulSets),
      ReplicationController: all(this.replicationControllers),
    }
    this.#kinds = kindsFor(use)
    this.#unsynced = new Set(this.#kinds)
  }

  /** Starts all watches. They run until `stop`. */
  start(): void {
    for (const kind of this.#kinds) {
      const watch = new ListWatch(
        this.#client,
        resourcePath(kindRules[kind].resource),
        {
          parseLarge: (text) => this.#reader.read(kind, text),
          listed: (page) => this.#enter(kind, page),
          replaced: (objects, version) => this.#replace(kind, objects, version),
          changed: (object, size) => {
            this.#large.note(kind, object['metadata'] as ObjectMeta, size)
            this.upsert(kind, object)
          },
          deleted: (object) => this.#delete(kind, object),
          reached: (version) => this.#stores[kind].reach(version),
        },
        this.#log,
      )
      this.#watches.push(watch)
      void watch.run()
    }
  }

  stop(): void {
    for (const watch of this.#watches) watch.stop()
  }

  /** The kinds whose first list has not come yet. */
  get unsynced(): readonly CachedKind[] {
    return [...this.#unsynced]
  }

  /** Resolves when every kind that this process watches has been listed. */
  synced(): Promise<void> {
    if (this.#unsynced.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#onSynced.push(resolve))
  }

  /** Returns the object of a kind by its namespace and name, or its name alone; undefined: there is none, or kinds of this name are not kept. */
  find(kind: string, key: string): CachedObject | undefined {
    return Object.hasOwn(this.#stores, kind) ? this.#stores[kind as CachedKind].get(key) : undefined
  }

  /** Enters an object as the API server returned it, unless something newer is known. */
  upsert(kind: CachedKind, json: Json): void {
    const store = this.#stores[kind]
    const meta = json['metadata'] as ObjectMeta
    const key = keyOf(meta)
    if (!store.admits(key, meta)) return
    const before = store.get(key)
    let after: CachedObject
    try {
      after = this.#judged(decoded(kind, json))
      if (isOfAnotherProvider(after)) {
        if (before !== undefined) this.#delete(kind, json)
        return
      }
      store.set(key, after)
    } catch (error) {
      this.#unreadable(kind, key, meta, error)
      return
    }
    this.#tell(kind, key, before, after)
  }

  /** What was known of the object before stays. Lists bring it again and again, which is no news. */
  #unreadable(kind: CachedKind, key: string, { uid, resourceVersion }: ObjectMeta, error: unknown): void {
    const version = `${uid}/${resourceVersion}`
    if (this.#reported.get(`${kind}/${key}`) === version) return
    if (this.#reported.size >= mostReported) this.#reported.clear()
    this.#reported.set(`${kind}/${key}`, version)
    this.#log.error({ kind, object: key, err: error }, 'object cannot be read; correct the value named in the error')
  }

  /** Calls the listener after each change. Returns the function that ends it. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Waits until `observe` returns something, asking at once and after each change that `concerns` lets through.
   * Rejects when the signal fires. Waiters are many, so `concerns` must be cheap.
   */
  waitFor<T>(concerns: ChangeFilter, observe: () => T | undefined, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const first = observe()
      if (first !== undefined) return resolve(first)
      const end = this.onChange((...change) => {
        if (!concerns(...change)) return
        const value = observe()
        if (value === undefined) return
        finish()
        resolve(value)
      })
      const cancelled = () => {
        finish()
        reject(signal.reason instanceof Error ? signal.reason : new Error('the wait was cancelled'))
      }
      const finish = () => {
        end()
        signal.removeEventListener('abort', cancelled)
      }
      if (signal.aborted) cancelled()
      else signal.addEventListener('abort', cancelled, { once: true })
    })
  }

  /** Waits for a change that `concerns` lets through, at most `ms`. Returns whether one came. Rejects when the signal fires. */
  async changeWithin(ms: number, concerns: ChangeFilter, signal: AbortSignal): Promise<boolean> {
    const over = new AbortController()
    const both = AbortSignal.any([signal, over.signal])
    let changed = false
    const change = this.waitFor(
      (...about) => {
        changed ||= concerns(...about)
        return changed
      },
      () => (changed ? true : undefined),
      both,
    )
    try {
      await Promise.race([change, pauseFor(ms, both)])
      return changed
    } finally {
      over.abort()
      await Promise.allSettled([change])
    }
  }

  /**
   * Brings the cache up to what the API server has now for these kinds, by an uncached list. Objects that the watches have not told yet
   * enter at once; what is not in the list and is older than it leaves. Large objects are left to the watches: a hundred of them would take longer
   * to read than all else.
   */
  async catchUp(kinds: readonly CachedKind[], signal?: AbortSignal): Promise<void> {
    await Promise.all(
      kinds.map(async (kind) => {
        const store = this.#stores[kind]
        const { resource } = kindRules[kind]
        const unread = this.#large.names(kind)
        const fieldSelector = withoutNames(unread)
        const probe = await this.#client.list(resourcePath(resource), { limit: 1, fieldSelector }, signal)
        if (store.reached(probe.resourceVersion)) return
        const parseLarge = (text: string) => this.#reader.read(kind, text)
        const pages = this.#client.listPages(resourcePath(resource), { fieldSelector, signal, parseLarge })
        const { objects, resourceVersion } = await readList(pages, (page) => this.#enter(kind, page))
        this.#replace(kind, objects, resourceVersion, unread)
      }),
    )
  }

  #judged(object: CachedObject): CachedObject {
    return object.kind === 'Node' && isInterrupted(object, this.#nodeRules)
      ? { ...object, isInterrupted: true }
      : object
  }

  #enter(kind: CachedKind, { items, sizes }: ListResult): void {
    for (const [at, json] of items.entries()) {
      const size = sizes?.[at]
      if (size !== undefined) this.#large.note(kind, json['metadata'] as ObjectMeta, size)
      this.upsert(kind, json)
    }
  }

  /** What is not among these objects, which have entered already, has gone. `unread`: names that were not listed. */
  #replace(
    kind: CachedKind,
    objects: readonly Json[],
    resourceVersion: string,
    unread: ReadonlySet<string> = new Set(),
  ): void {
    const store = this.#stores[kind]
    const present = new Set(objects.map(({ metadata }) => keyOf(metadata as ObjectMeta)))
    for (const [key, object] of store.olderThan(resourceVersion)) {
      if (present.has(key) || unread.has(object.metadata.name)) continue
      store.delete(key, object.metadata, resourceVersion)
      this.#tell(kind, key, object, undefined)
    }
    store.reach(resourceVersion)
    if (this.#unsynced.delete(kind) && this.#unsynced.size === 0) {
      for (const resolve of this.#onSynced) resolve()
      this.#onSynced = []
    }
  }

  #delete(kind: CachedKind, json: Json): void {
    const store = this.#stores[kind]
    const meta = json['metadata'] as ObjectMeta
    const key = keyOf(meta)
    const before = store.get(key)
    this.#large.note(kind, meta, 0)
    store.delete(key, meta, meta.resourceVersion)
    if (before !== undefined && before.metadata.uid === meta.uid) this.#tell(kind, key, before, undefined)
  }

  #tell(kind: CachedKind, key: string, before: CachedObject | undefined, after: CachedObject | undefined): void {
    for (const listener of this.#listeners) {
      try {
        listener(kind, key, before, after)
      } catch (error) {
        this.#log.error({ kind, object: key, err: error }, 'a listener of the cluster cache failed')
      }
    }
  }
}

/** `namespace/name`, or the name of a cluster-scoped object. */
export function keyOf(meta: Pick<ObjectMeta, 'name' | 'namespace'>): string {
  return meta.namespace === undefined ? meta.name : `${meta.namespace}/${meta.name}`
}

/**
 * NodePools and NodeClaims can belong to another provider that lives in the same cluster, and NodeClaims to node auto-provisioning, whose machines AKS
 * makes and deletes. Joiner never sees them; their Nodes count as nodes that nobody manages.
 */
function isOfAnotherProvider(object: CachedObject): boolean {
  if (object.kind !== 'NodeClaim' && object.kind !== 'NodePool') return false
  if (object.kind === 'NodeClaim' && isAksMachine(object)) return true
  const { group, kind } = object.kind === 'NodeClaim' ? object.spec.nodeClassRef : object.template.spec.nodeClassRef
  return group !== 'karpenter.azure.com' || kind !== 'AKSNodeClass'
}
