import { createHash } from 'node:crypto'
import { serialize } from 'node:v8'
import { Gauge, type Registry } from 'prom-client'
import { isVirtual } from '../../core/capacity-buffer/buffer-pods.ts'
import { CrashSearch } from '../../core/crash-search.ts'
import type { Pod } from '../../core/objects.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import {
  CrashCounts,
  inForce,
  objectOf,
  type QuarantineEntries,
  type QuarantineEntry,
  quarantineId,
  withEntry,
} from '../../core/quarantine.ts'
import { annotations } from '../../core/requirements/labels.ts'
import { hasPassed } from '../../core/values/time.ts'
import type { CachedObject } from '../kubernetes/cache/cached-kinds.ts'
import { keyOf } from '../kubernetes/cache/object-key.ts'
import { subject } from '../kubernetes/event-recorder.ts'
import type { Parts } from '../kubernetes/parts.ts'
import { podFingerprint } from './pod-fingerprint.ts'
import type { QuarantineStore } from './quarantine-store.ts'
import type { ThreadFault } from './supervised-thread.ts'

interface Deps extends Pick<Parts, 'cache' | 'events' | 'log' | 'now'> {
  readonly store: QuarantineStore
}

/** Interval of reading what others wrote or cleared, while something is quarantined. */
const readEveryMs = 5000
/** Without its Node a NodeClaim would count as in-flight, and pods would wait for it. */
const neverLeftOut: ReadonlySet<string> = new Set(['Node', 'NodeClaim'])

type Listener = (isConcerned: (object: CachedObject) => boolean) => void

/**
 * Objects that crashed passes of the scheduler, and are left out of it. Pods to be placed are tried alone before they are quarantined. Other
 * objects are quarantined when the scheduler was working on them in two crashes. A ConfigMap keeps the entries across restarts.
 */
export class Quarantine {
  readonly #deps: Deps
  readonly #search = new CrashSearch()
  readonly #counts = new CrashCounts()
  readonly #listeners = new Set<Listener>()
  /** Ids of entries that could not be written. */
  readonly #unsaved = new Set<string>()
  #entries: QuarantineEntries = new Map()
  #podHashes: ReadonlyMap<string, QuarantineEntry> = new Map()
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined

  constructor(deps: Deps, registry: Registry) {
    this.#deps = deps
    observeQuarantine(() => this.#entries, registry)
  }

  /** Calls the listener after each change, with the objects that it concerns. Returns the function that removes it. */
  onChange(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Returns whether a pod is left out. */
  holds(pod: Pod): boolean {
    return this.#entryOf(pod) !== undefined
  }

  /**
   * Returns an object as the scheduler may see it; undefined: not at all. A running pod still fills its node, which is not disrupted, but makes
   * no demands on other nodes.
   */
  shown(object: CachedObject): CachedObject | undefined {
    if (this.#entryOf(object) === undefined) return object
    return object.kind === 'Pod' && object.nodeName !== undefined ? standIn(object) : undefined
  }

  /** Selects the pods for the next pass: all, or a part during the search for what crashed the last one. */
  trial(pods: readonly Pod[]): readonly Pod[] {
    for (;;) {
      const { trial } = this.#search
      if (trial === undefined) return pods
      const members = pods.filter((pod) => trial.has(podFingerprint(pod)))
      if (trial.size === 0 || members.length > 0) return members
      this.#search.skip()
    }
  }

  /** Records that a pass succeeded. */
  passed(): void {
    this.#search.passed()
  }

  /** Records that a pass with these pods crashed. Returns whether another pass may do better. */
  async planCrashed(fault: ThreadFault, pods: readonly Pod[]): Promise<boolean> {
    if (fault.inHand?.doing === 'reading') return this.crashed(fault)
    const tried = [...new Set(pods.map(podFingerprint))]
    const inHand = pods.find((pod) => quarantineId('Pod', podName(pod)) === fault.inHand?.id)
    const verdict = this.#search.crashed(tried, inHand && podFingerprint(inHand))
    const found = verdict.kind === 'found' && pods.find((pod) => podFingerprint(pod) === verdict.member)
    if (found) await this.#add(quarantineId('Pod', podName(found)), found, fault.message)
    return verdict.kind !== 'outside'
  }

  /** Records that a thread crashed while working on an object, if that is known. Returns whether another pass may do better. */
  async crashed(fault: ThreadFault): Promise<boolean> {
    const { id = '' } = fault.inHand ?? {}
    const object = this.#find(id)
    if (object === undefined || neverLeftOut.has(object.kind)) return false
    if (this.#counts.add(id, objectFingerprint(object))) await this.#add(id, object, fault.message)
    return true
  }

  /** Publishes an event for each of the pods that is left out. */
  report(pods: readonly Pod[]): void {
    if (this.#entries.size === 0) return
    for (const pod of pods) {
      const entry = this.#entryOf(pod)
      if (entry !== undefined) this.#publish(entry, pod)
    }
  }

  /** Reads what others wrote or cleared, and ends expired entries. `isForced`: even if nothing is quarantined here or it was read just now. */
  async refresh(isForced = false): Promise<void> {
    const isDue = this.#entries.size > 0 && hasPassed(readEveryMs, this.#readAt, this.#deps.now())
    if (!isForced && !isDue) return
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    await this.#reading
  }

  async #read(): Promise<void> {
    const { store, log, now } = this.#deps
    this.#readAt = now()
    const hashOf = (id: string) => {
      const object = this.#find(id)
      return object && objectFingerprint(object)
    }
    try {
      for (const id of this.#unsaved) await this.#save(id)
      const stored = await store.read()
      const entries = inForce(stored, hashOf, now())
      await store.remove([...stored.keys()].filter((id) => !entries.has(id)))
      // Entries added in between are not in what was read.
      const added = [...this.#entries].filter(([id]) => this.#unsaved.has(id))
      this.#replace(new Map([...entries, ...added]))
    } catch (error) {
      log.warn({ err: error }, 'failed to read or write quarantine, retrying')
      this.#replace(inForce(this.#entries, hashOf, now()))
    }
  }

  async #add(id: string, object: CachedObject, cause: string): Promise<void> {
    const { store, log, now } = this.#deps
    const before = this.#entries
    this.#replace(withEntry(before, { id, hash: objectFingerprint(object), cause }, now()))
    const entry = this.#entries.get(id) as QuarantineEntry
    log.error({ object: id, cause, until: timeOf(entry.untilMs) }, 'quarantined object')
    this.#publish(entry, object)
    this.#unsaved.add(id)
    try {
      await this.#save(id)
      await store.remove([...before.keys()].filter((other) => !this.#entries.has(other)))
    } catch (error) {
      log.warn({ err: error, object: id }, 'failed to write quarantine, retrying')
    }
  }

  async #save(id: string): Promise<void> {
    const entry = this.#entries.get(id)
    if (entry !== undefined) await this.#deps.store.add(entry)
    this.#unsaved.delete(id)
  }

  #publish({ id, cause, untilMs }: QuarantineEntry, object: CachedObject): void {
    // There is no such object; its CapacityBuffer says that it has no place.
    if (object.kind === 'Pod' && isVirtual(object)) return
    const own = quarantineId(object.kind, keyOf(object.metadata))
    const whose = own === id ? '' : `, as ${id} with the same spec`
    const message = `Quarantined until ${timeOf(untilMs)}${whose}: ${cause}; change the spec, or clear it with joiner blocked objects clear ${id}`
    this.#deps.events.record({ about: subject(object), reason: 'Quarantined', message })
  }

  #entryOf(object: CachedObject): QuarantineEntry | undefined {
    if (this.#entries.size === 0) return undefined
    if (object.kind === 'Pod')
      return this.#podHashes.size === 0 ? undefined : this.#podHashes.get(podFingerprint(object))
    const entry = this.#entries.get(quarantineId(object.kind, keyOf(object.metadata)))
    return entry?.hash === objectFingerprint(object) ? entry : undefined
  }

  #replace(entries: QuarantineEntries): void {
    const before = this.#entries
    const changed = [...before.values(), ...entries.values()].filter(({ id, hash }) => {
      return before.get(id)?.hash !== hash || entries.get(id)?.hash !== hash
    })
    this.#entries = entries
    const ofPods = [...entries.values()].filter(({ id }) => objectOf(id).kind === 'Pod')
    this.#podHashes = new Map(ofPods.map((entry) => [entry.hash, entry]))
    if (changed.length === 0) return
    const [ids, hashes] = [new Set(changed.map(({ id }) => id)), new Set(changed.map(({ hash }) => hash))]
    for (const listener of this.#listeners) {
      listener((object) =>
        object.kind === 'Pod'
          ? hashes.has(podFingerprint(object))
          : ids.has(quarantineId(object.kind, keyOf(object.metadata))),
      )
    }
  }

  #find(id: string): CachedObject | undefined {
    const { kind, key } = objectOf(id)
    return this.#deps.cache.find(kind, key)
  }
}

const timeOf = (ms: number) => new Date(ms).toISOString()

function standIn(pod: Pod): Pod {
  const { affinity: _, metadata, ...rest } = pod
  return {
    ...rest,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.doNotDisrupt]: 'true' } },
    nodeSelector: {},
    tolerations: [],
    topologySpreadConstraints: [],
    hostPorts: [],
    persistentVolumeClaims: [],
    resourceClaims: [],
  }
}

/** Returns a short text that is the same as long as the spec of an object is; for pods also the same for all of one shape. */
function objectFingerprint(object: CachedObject): string {
  if (object.kind === 'Pod') return podFingerprint(object)
  const { metadata, ...rest } = object
  const { uid, labels, annotations } = metadata
  const spec = Object.entries(rest).filter(([field]) => field !== 'status' && field !== 'conditions')
  return createHash('sha256')
    .update(serialize([uid, labels, annotations, spec]))
    .digest('hex')
    .slice(0, 16)
}

/** Publishes how many objects are quarantined, by kind. */
export function observeQuarantine(entries: () => QuarantineEntries, registry: Registry): Gauge {
  return new Gauge({
    name: 'joiner_quarantined_objects',
    help: 'Objects that are left out of planning because they crashed passes of the scheduler.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      this.reset()
      // Pods are what crashes the scheduler, if anything does: an alert needs a series before it.
      this.set({ kind: 'Pod' }, 0)
      for (const [kind, { length }] of Object.entries(
        Object.groupBy([...entries().keys()], (id) => objectOf(id).kind),
      ) as [string, readonly string[]][])
        this.set({ kind }, length)
    },
  })
}
