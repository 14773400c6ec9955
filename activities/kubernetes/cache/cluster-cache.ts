import type { Logger } from 'pino'
import type { NodeClass } from '../../../api/objects.ts'
import type { BufferSource, CapacityBuffer } from '../../../core/capacity-buffer/capacity-buffer.ts'
import { isInterrupted, type NodeRules, noNodeRules } from '../../../core/node-claim/node-health.ts'
import type {
  Node,
  NodeClaim,
  NodeOverlay,
  NodePool,
  ObjectMeta,
  Pod,
  PodDisruptionBudget,
} from '../../../core/objects.ts'
import { isProvisionable } from '../../../core/pods/pod-rules.ts'
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
import { SharedParts } from '../../../core/pods/shared-parts.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import { isLeaving } from '../../../core/scheduling/state-nodes.ts'
import { untilCalled } from '../../abortable-wait.ts'
import { forEachOf } from '../../concurrency.ts'
import type { Json, ListResult } from '../client/answers.ts'
import { isNotFound } from '../client/api-error.ts'
import type { KubernetesClient } from '../client/client.ts'
import { resourcePath } from '../client/resources.ts'
import { type CachedKind, type CachedObject, type CacheUse, kindRules, kindsFor } from './cached-kinds.ts'
import { budgetsTopic, ChangeFeed, type ClusterChange, claimTopic, nodeTopic, type Topic } from './change-feed.ts'
import { withoutTemplate } from './decode-buffer.ts'
import { decoded, LargeReader } from './large-reader.ts'
import { ListWatch, readList } from './list-watch.ts'
import { keyOf } from './object-key.ts'
import { isOfAnotherProvider } from './other-providers.ts'
import { Store } from './store.ts'
import { LargeObjects, UnreadableObjects, withoutNames } from './unreadable-objects.ts'
import { VirtualPods } from './virtual-pods.ts'

/** Pods that are read at once where they are read one by one. */
const readsAtOnce = 16

/**
 * The cluster as the watches report it, in the shapes that decisions use; each object is decoded once per event.
 * Invariants: an older resource version never replaces a newer one; a deleted object does not come back by a late event;
 * what this process wrote can be entered at once (`upsert`).
 */
export class ClusterCache extends ChangeFeed {
  readonly pods = new Store<Pod>({
    byNode: (pod) => pod.nodeName,
    byDoNotDisrupt: ({ metadata }) =>
      metadata.annotations[annotations.doNotDisrupt] === undefined ? undefined : 'set',
    byProvisionable: (pod) => (isProvisionable(pod) ? 'yes' : undefined),
  })
  readonly nodes = new Store<Node>({
    byProviderId: (node) => node.providerId?.toLowerCase(),
    byLeaving: (node) =>
      node.isInterrupted === true || node.metadata.deletionTimestamp !== undefined ? 'yes' : undefined,
  })
  readonly nodeClaims = new Store<NodeClaim>({
    byProviderId: (claim) => claim.status.providerId?.toLowerCase(),
    byLeaving: (claim) => (isLeaving(claim, undefined) ? 'yes' : undefined),
    byNodePool: ({ metadata }) => metadata.labels[labels.nodePool],
  })
  readonly nodePools = new Store<NodePool>()
  readonly nodeClasses = new Store<NodeClass>()
  readonly nodeOverlays = new Store<NodeOverlay>()
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
  readonly capacityBuffers = new Store<CapacityBuffer>()
  readonly podTemplates = new Store<BufferSource>()
  readonly deployments = new Store<BufferSource>()
  /** Pods that exist only in plans. They are made from buffers, and reported by listeners of their own. */
  readonly virtualPods = new VirtualPods()

  readonly #client: KubernetesClient
  readonly #log: Logger
  readonly #watches: ListWatch[] = []
  readonly #kinds: readonly CachedKind[]
  readonly #stores: Readonly<Record<CachedKind, Store<CachedObject>>>
  readonly #unsynced: Set<CachedKind>
  readonly #nodeRules: NodeRules
  readonly #managed: Pick<CacheUse, 'machines'>
  readonly #forBuffers: boolean
  readonly #large = new LargeObjects()
  readonly #reader: LargeReader
  readonly #unreadable: UnreadableObjects
  readonly #cutOff = new Set<CachedKind>()
  readonly #parts = new SharedParts()
  #onSynced: (() => void)[] = []
  #onConnected: (() => void)[] = []

  /** Watches only the kinds that `use` needs; the other stores stay empty. */
  constructor(client: KubernetesClient, log: Logger, use: CacheUse = {}) {
    super(log)
    this.#unreadable = new UnreadableObjects(log)
    this.#client = client
    this.#log = log
    this.#reader = new LargeReader(log)
    this.#nodeRules = use.nodeRules ?? noNodeRules
    this.#managed = use
    this.#forBuffers = use.buffers === true
    const all = <T extends CachedObject>(store: Store<T>) => store as unknown as Store<CachedObject>
    this.#stores = {
      Pod: all(this.pods),
      Node: all(this.nodes),
      NodeClaim: all(this.nodeClaims),
      NodePool: all(this.nodePools),
      AKSNodeClass: all(this.nodeClasses),
      NodeOverlay: all(this.nodeOverlays),
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
      CapacityBuffer: all(this.capacityBuffers),
      PodTemplate: all(this.podTemplates),
      Deployment: all(this.deployments),
    }
    this.#kinds = kindsFor(use)
    this.#unsynced = new Set(this.#kinds)
  }

  /** Starts all watches. They run until `stop`. */
  start(): void {
    for (const kind of this.#kinds) {
      const watch = new ListWatch(
        { client: this.#client, path: resourcePath(kindRules[kind].resource), log: this.#log },
        {
          parseLarge: (text) => this.#reader.read(kind, text),
          listed: (page) => this.#enter(kind, page),
          replaced: (objects, resourceVersion) => this.#replace(kind, { objects, resourceVersion }),
          changed: (object, size) => {
            this.#large.note(kind, object['metadata'] as ObjectMeta, size)
            this.upsert(kind, object)
          },
          deleted: (object) => this.#delete(kind, object),
          reached: (version) => this.#stores[kind].reach(version),
          connected: (isConnected) => this.#noteConnection(kind, isConnected),
        },
      )
      this.#watches.push(watch)
      void watch.run()
    }
  }

  stop(): void {
    for (const watch of this.#watches) watch.stop()
  }

  /** The kinds whose first list is missing. */
  get unsynced(): readonly CachedKind[] {
    return [...this.#unsynced]
  }

  /** Resolves when every kind that this process watches has been listed. */
  synced(): Promise<void> {
    if (this.#unsynced.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#onSynced.push(resolve))
  }

  /**
   * Resolves when every watch is connected. A connected watch reports a change within moments; a connection that died is noticed after
   * 20 s at most (`KubernetesClient.load`). Decisions that rest on the watches wait for this first. Rejects when the signal fires.
   */
  async connected(signal: AbortSignal): Promise<void> {
    if (this.#cutOff.size === 0) return
    this.#log.debug({ kinds: [...this.#cutOff] }, 'waiting for interrupted watches')
    await untilCalled((connected) => this.#onConnected.push(connected), signal)
  }

  #noteConnection(kind: CachedKind, isConnected: boolean): void {
    if (kind === 'NodeClaim') this.noteTold(isConnected)
    if (!isConnected) this.#cutOff.add(kind)
    else if (this.#cutOff.delete(kind) && this.#cutOff.size === 0) for (const go of this.#onConnected.splice(0)) go()
  }

  /** Returns the object of a kind by its namespace and name, or its name alone. Undefined when there is none, or the kind is not kept. */
  find(kind: string, key: string): CachedObject | undefined {
    const found = Object.hasOwn(this.#stores, kind) ? this.#stores[kind as CachedKind].get(key) : undefined
    return found === undefined && kind === 'Pod' ? this.virtualPods.get(key) : found
  }

  /** Whether an object belongs to another provider, so that it is as if it were not there. */
  hides(object: CachedObject): boolean {
    return isOfAnotherProvider(object, this.#managed)
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
      after = this.#kept(decoded(kind, json))
      if (this.hides(after)) {
        if (before !== undefined) this.#delete(kind, json)
        return
      }
      store.set(key, after)
    } catch (error) {
      this.#unreadable.report(kind, meta, error)
      return
    }
    this.notify({ kind, key, before, after })
  }

  /**
   * Brings the cache up to the API server's current state of these kinds, by an uncached list: for small kinds, and for the moments when this
   * process takes over from another. Objects that the watches have not reported yet enter at once; objects that are missing from the list and
   * older than it leave. Large objects are left to the watches: a hundred of them would take longer to read than all else.
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
        this.#replace(kind, { objects, resourceVersion, unread })
      }),
    )
  }

  /** Brings the pods without a node up to date likewise. Those that were bound meanwhile are read one by one. */
  async catchUpUnboundPods(signal?: AbortSignal): Promise<void> {
    const path = resourcePath('pods')
    const parseLarge = (text: string) => this.#reader.read('Pod', text)
    const pages = this.#client.listPages(path, { fieldSelector: 'spec.nodeName=', signal, parseLarge })
    const { objects, resourceVersion } = await readList(pages, (page) => this.#enter('Pod', page))
    const unbound = new Set(objects.map(({ metadata }) => keyOf(metadata as ObjectMeta)))
    const others = this.pods.olderThan(resourceVersion).filter(([key, pod]) => !pod.nodeName && !unbound.has(key))
    await forEachOf(others, readsAtOnce, async ([, { metadata }]) => {
      try {
        this.upsert('Pod', await this.#client.get(resourcePath('pods', metadata.name, metadata.namespace), {}, signal))
      } catch (error) {
        if (!isNotFound(error)) throw error
        this.#delete('Pod', { metadata: { ...metadata, resourceVersion } })
      }
    })
  }

  protected topicsOf({ kind, key, before, after }: ClusterChange): readonly Topic[] {
    switch (kind) {
      case 'NodeClaim':
        return [claimTopic(key)]
      case 'Node': {
        const ids = new Set([before, after].flatMap((node) => (node as Node | undefined)?.providerId ?? []))
        const claims = [...ids].flatMap((id) => this.nodeClaims.by('byProviderId', id.toLowerCase()))
        return [nodeTopic(key), ...claims.map(({ metadata }) => claimTopic(metadata.name))]
      }
      case 'Pod':
      case 'VolumeAttachment': {
        // Another object of the same name may be elsewhere.
        const names = [before, after].flatMap((one) => (one as Pod | VolumeAttachment | undefined)?.nodeName ?? [])
        return [...new Set(names)].map(nodeTopic)
      }
      case 'PodDisruptionBudget':
        return [budgetsTopic((after ?? before)?.metadata.namespace ?? 'default')]
      default:
        return []
    }
  }

  /** The object as it is kept: a Node is judged, a pod shares its parts with others. */
  #kept(object: CachedObject): CachedObject {
    if (object.kind === 'Pod') return this.#parts.of(object)
    return object.kind === 'Node' && isInterrupted(object, this.#nodeRules)
      ? { ...object, isInterrupted: true }
      : this.#forBuffers
        ? object
        : withoutTemplate(object)
  }

  #enter(kind: CachedKind, { items, sizes }: ListResult): void {
    for (const [at, json] of items.entries()) {
      const size = sizes?.[at]
      if (size !== undefined) this.#large.note(kind, json['metadata'] as ObjectMeta, size)
      this.upsert(kind, json)
    }
  }

  /** Removes objects that are not among these, which have entered already. `unread`: names that were not listed. */
  #replace(
    kind: CachedKind,
    {
      objects,
      resourceVersion,
      unread = new Set(),
    }: { readonly objects: readonly Json[]; readonly resourceVersion: string; readonly unread?: ReadonlySet<string> },
  ): void {
    const store = this.#stores[kind]
    const present = new Set(objects.map(({ metadata }) => keyOf(metadata as ObjectMeta)))
    for (const [key, object] of store.olderThan(resourceVersion)) {
      if (present.has(key) || unread.has(object.metadata.name)) continue
      store.delete(key, object.metadata, resourceVersion)
      this.notify({ kind, key, before: object, after: undefined })
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
    if (before !== undefined && before.metadata.uid === meta.uid) this.notify({ kind, key, before, after: undefined })
  }
}
