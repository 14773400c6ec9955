import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { metaOf } from '../fast/kubernetes/api/objects.ts'
import type { FastWorld } from '../fast/world/fast-world.ts'

/** All that the API server held at a time. */
interface Backup<State> {
  readonly atMs: number
  readonly objects: ReadonlyMap<string, Json>
  readonly state: State
}

const everyMs = 60_000
/** So many are kept, for restores that go back some minutes. */
const most = 15
/** The annotation of a Node with a kubelet. */
export const kubelet = 'kwok.x-k8s.io/node'

/** Backups of the API server's objects, one a minute, and what brings them back. `State`: what else is known of a time. */
export class Etcd<State> {
  readonly #fast: FastWorld
  #backups: readonly Backup<State>[] = []
  #isRestoring = false
  /** When the last restore was, epoch ms. */
  restoredMs = Number.NEGATIVE_INFINITY

  constructor(fast: FastWorld) {
    this.#fast = fast
  }

  /** Whether changes that are told now are those of a restore. */
  get isRestoring(): boolean {
    return this.#isRestoring
  }

  /** Makes a backup, unless the last one is fresh. What is stored is never changed, so this copies no object. */
  backUp(atMs: number, state: () => State): void {
    const last = this.#backups.at(-1)
    if (last !== undefined && atMs - last.atMs < everyMs) return
    const objects = new Map(this.#fast.cluster.server.objects.all())
    this.#backups = [...this.#backups, { atMs, objects, state: state() }].slice(-most)
  }

  /**
   * Brings back what was there so long ago, or what the oldest backup has. Versions go on from where they were, as Kubernetes advises for a restore, and
   * all watches end. Later backups are of no use any more. `silent`: names of Nodes whose VM is gone by now, or stands still. Errors: there is no backup.
   */
  restore(beforeMs: number, silent: (name: string) => boolean): State {
    const backup = this.#backups.findLast(({ atMs }) => atMs <= beforeMs) ?? this.#backups[0]
    if (backup === undefined) throw new Error('there is no backup yet')
    this.#backups = this.#backups.filter(({ atMs }) => atMs <= backup.atMs)
    const { cluster, time } = this.#fast
    const { server } = cluster
    this.restoredMs = time.clock.now()
    this.#isRestoring = true
    // Kubernetes collects nothing in the midst of it.
    server.collectsGarbage = false
    try {
      this.#replace(backup.objects, silent)
    } finally {
      server.collectsGarbage = true
      this.#isRestoring = false
    }
    cluster.forgetChanges()
    cluster.endWatches()
    return backup.state
  }

  #replace(wanted: ReadonlyMap<string, Json>, silent: (name: string) => boolean): void {
    const { objects } = this.#fast.cluster.server
    for (const path of objects.all().keys()) if (!wanted.has(path)) objects.drop(path)
    for (const [path, object] of wanted) {
      const isSilent = object['kind'] === 'Node' && silent(metaOf(object).name)
      const restored = isSilent ? withoutKubelet(object) : object
      if (objects.find(path) !== restored) objects.store(path, restored)
    }
  }
}

function withoutKubelet(node: Json): Json {
  const { [kubelet]: _, ...annotations } = metaOf(node).annotations ?? {}
  return { ...node, metadata: { ...metaOf(node), annotations } }
}
