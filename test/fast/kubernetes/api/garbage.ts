import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import { type Meta, metaOf, type ObjectStore } from './objects.ts'
import type { Change } from './watches.ts'

/** An object with it goes after those that it owns. */
const foreground = 'foregroundDeletion'

interface Collected {
  readonly objects: ObjectStore
  readonly delete: (path: string) => void
  readonly change: (path: string, lock: undefined, change: (object: Json) => Json) => void
}

/** Lets objects go with their last owner, or before it where that was asked for. */
export class Garbage {
  readonly #server: Collected

  constructor(server: Collected) {
    this.#server = server
  }

  /** What follows from a change. */
  after({ type, path, object }: Change): void {
    if (type === 'DELETED') this.#all()
    else if (this.#server.objects.find(path) === object) this.#one(path, object)
  }

  /** The object's metadata when it goes after those that it owns. */
  static waiting(metadata: Meta): Meta {
    const { finalizers = [] } = metadata
    return finalizers.includes(foreground) ? metadata : { ...metadata, finalizers: [...finalizers, foreground] }
  }

  /** Those that an object owns stay without it. */
  orphan(owner: Json): void {
    for (const [path, object] of this.#ownedBy(owner)) {
      const ownerReferences = (metaOf(object).ownerReferences ?? []).filter(({ uid }) => uid !== metaOf(owner).uid)
      this.#server.objects.store(path, { ...object, metadata: { ...metaOf(object), ownerReferences } })
    }
  }

  #all(): void {
    for (const [path, object] of this.#server.objects.all()) this.#one(path, object)
  }

  #one(path: string, object: Json): void {
    const { ownerReferences = [], deletionTimestamp, finalizers = [] } = metaOf(object)
    if (deletionTimestamp !== undefined && finalizers.includes(foreground)) this.#goAfterOwned(path, object)
    if (ownerReferences.length === 0 || deletionTimestamp !== undefined) return
    if (!ownerReferences.some((owner) => this.#server.objects.has(owner))) this.#server.delete(path)
  }

  #goAfterOwned(path: string, owner: Json): void {
    const owned = this.#ownedBy(owner)
    for (const [own, object] of owned) if (metaOf(object).deletionTimestamp === undefined) this.#server.delete(own)
    const isBlocked = this.#ownedBy(owner).some(([, { metadata }]) =>
      (metadata as Meta).ownerReferences?.some(
        ({ uid, blockOwnerDeletion }) => uid === metaOf(owner).uid && blockOwnerDeletion === true,
      ),
    )
    if (isBlocked || this.#server.objects.find(path) === undefined) return
    this.#server.change(path, undefined, (object) => {
      const { finalizers = [], ...rest } = metaOf(object)
      return { ...object, metadata: { ...rest, finalizers: finalizers.filter((one) => one !== foreground) } }
    })
  }

  #ownedBy(owner: Json): readonly (readonly [path: string, object: Json])[] {
    const { uid } = metaOf(owner)
    return [...this.#server.objects.all()].filter(([, object]) =>
      metaOf(object).ownerReferences?.some((one) => one.uid === uid && one.kind === owner['kind']),
    )
  }
}
