import { untilCalled } from '../../abortable-wait.ts'
import { ListWatch } from '../../kubernetes/cache/list-watch.ts'
import { type KeptSource, watchPath } from '../../kubernetes/client/config-map.ts'
import type { Parts } from '../../kubernetes/parts.ts'
import type { MarkScope } from '../arm/azure-error.ts'
import { blockingMark, isBlocked, type OfferingUse } from './blocking-mark.ts'
import { imageMark, type RefusedImage, type RefusedSize, sizeMark } from './lasting-mark.ts'
import {
  blockAlike,
  type ImageMark,
  imageKey,
  keptMarks,
  liveMarks,
  type Mark,
  type Marks,
  marksFor,
  marksMap,
  nextEnd,
  noMarks,
  type OfferingId,
  type SizeMark,
  withMarks,
} from './mark.ts'
import { MarkStore, nothingStored, type StoredMarks, storedMarks } from './mark-store.ts'

type Change = (marks: Marks, nowMs: number) => Marks

type Deps = KeptSource & Pick<Parts, 'now' | 'log'>

interface Waiting {
  readonly change: Change
  readonly written: () => void
  readonly failed: (error: unknown) => void
}

/**
 * Marks on offerings that Azure refused, kept in one ConfigMap that every replica watches: they survive a restart, and other replicas see
 * them at once. Marks of this process count here at once, and are durable when `mark` returns. Marks that come during a write
 * are written together, so that a storm of refusals costs few requests.
 */
export class UnavailableOfferings {
  readonly #store: MarkStore
  readonly #deps: Deps
  readonly #watch: ListWatch
  readonly #waiting: Waiting[] = []
  readonly #listeners = new Set<() => void>()
  readonly #changeListeners = new Set<() => void>()
  #stored: StoredMarks | undefined
  /** The latest version that was received, deletions included. */
  #latest = 0n
  #marks: Marks = noMarks
  #nextEndMs = Number.POSITIVE_INFINITY
  /** When that was found, epoch ms. */
  #foundMs = Number.NEGATIVE_INFINITY
  #version = 0
  #isWriting = false
  #onSynced: (() => void)[] = []

  constructor(deps: Deps) {
    this.#store = new MarkStore(deps.client, deps.namespace, deps.now)
    this.#deps = deps
    this.#watch = new ListWatch(
      { client: deps.client, path: watchPath(this.#store.ref), log: deps.log },
      {
        replaced: ([map], version) => this.#accept(map === undefined ? nothingStored : storedMarks(map), version),
        changed: (map) => this.#accept(storedMarks(map)),
        deleted: (map) => this.#accept(nothingStored, storedMarks(map).resourceVersion),
        reached: () => {},
      },
    )
  }

  start(): void {
    void this.#watch.run()
  }

  stop(): void {
    this.#watch.stop()
  }

  /** Waits until the marks have been read once. Rejects when the signal fires. */
  async synced(signal: AbortSignal): Promise<void> {
    if (this.#stored !== undefined) return
    await untilCalled((synced) => this.#onSynced.push(synced), signal)
  }

  /** Rises with each change of what is blocked: a new refusal, an expiry, a clear. */
  get version(): number {
    this.#expire()
    return this.#version
  }

  /** Whether a refusal that has not run out speaks of the offering (reference/azure-provider.md 3.8). */
  isMarked(offering: OfferingId, use?: OfferingUse): boolean {
    return isBlocked(this.#marks, offering, { nowMs: this.#deps.now(), use })
  }

  /** The mark that speaks of the offering; undefined when none does. */
  markOf(offering: OfferingId, use?: OfferingUse): Mark | undefined {
    return blockingMark(this.#marks, offering, { nowMs: this.#deps.now(), use })
  }

  /** The marks that have not expired. */
  get marks(): Marks {
    return liveMarks(this.#marks, this.#deps.now())
  }

  /** Those that are remembered too (`forgottenAtMs`). */
  get remembered(): Marks {
    return this.#marks
  }

  /** Calls the listener when marks were cleared before their time. Returns the function that removes it. */
  onCleared(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Marks the offerings that a refusal covers, and returns when every replica and every restart will know. Errors: the API server's;
   * then nothing is marked.
   */
  mark(
    offering: OfferingId,
    scope: MarkScope,
    { ttlMs, reason, zones }: { readonly ttlMs: number; readonly reason: string; readonly zones: readonly string[] },
  ): Promise<void> {
    return this.#add(marksFor(offering, scope, { untilMs: this.#deps.now() + ttlMs, reason, zones }))
  }

  /** Marks a size in all zones, for both capacity types, as `mark` does. */
  markSize(size: RefusedSize): Promise<void> {
    return this.#add([sizeMark(this.#marks, size, this.#deps.now())])
  }

  /** Marks a node image for an AKSNodeClass, as `markSize` does. */
  markImage(image: RefusedImage): Promise<void> {
    return this.#add([imageMark(this.#marks, image, this.#deps.now())])
  }

  /** The mark of a node image that has not run out; undefined when there is none. */
  imageMarkOf(image: string, nodeClass: string): ImageMark | undefined {
    const mark = this.#marks.get(imageKey(image, nodeClass))
    return mark?.kind === 'image' && mark.untilMs > this.#deps.now() ? mark : undefined
  }

  /**
   * Changes marks here at once, and for every replica when it returns. What others have written in between counts: the change is made again to what is
   * stored. Returns the marks afterwards. Errors: as `mark`; then nothing is changed.
   */
  async change(change: Change): Promise<Marks> {
    const marks = change(this.#marks, this.#deps.now())
    if (marks === this.#marks) return marks
    this.#show(marks, blockAlike(marks, this.#marks) ? 0 : 1)
    await this.#write(change)
    return this.#marks
  }

  #add(added: readonly Mark[]): Promise<void> {
    const { marks, news } = withMarks(this.#marks, added, this.#deps.now())
    this.#show(marks, news)
    return this.#write((before, now) => withMarks(before, added, now).marks)
  }

  #write(change: Change): Promise<void> {
    return new Promise((written, failed) => {
      this.#waiting.push({ change, written, failed })
      if (!this.#isWriting) void this.#writeAll()
    })
  }

  /** Removes the marks of sizes and images for which `isMeant` holds, remembered ones too. Errors: as `mark`; then they stay. */
  async clearLasting(isMeant: (mark: SizeMark | ImageMark) => boolean): Promise<void> {
    const isGone = (mark: Mark) => (mark.kind === 'size' || mark.kind === 'image') && isMeant(mark)
    if (![...this.#marks.values()].some(isGone)) return
    const without = (marks: Marks) => new Map([...marks].filter(([, mark]) => !isGone(mark)))
    this.#accept(await this.#store.change(this.#stored, without))
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const batch = [...this.#waiting]
      try {
        const stored = await this.#store.change(this.#stored, (marks) => changed(marks, batch, this.#deps.now()))
        this.#waiting.splice(0, batch.length)
        this.#accept(stored)
        for (const { written } of batch) written()
      } catch (error) {
        this.#waiting.splice(0, batch.length)
        this.#refresh()
        for (const { failed } of batch) failed(error)
      }
    }
    this.#isWriting = false
  }

  /** Applies the API server's state, unless something newer was received already. */
  #accept(stored: StoredMarks, resourceVersion = stored.resourceVersion): void {
    const version = BigInt(resourceVersion ?? 0)
    if (version < this.#latest) return
    this.#latest = version
    const isFirst = this.#stored === undefined
    this.#stored = stored
    this.#deps.note?.(marksMap, stored.faults)
    this.#refresh()
    if (!isFirst) return
    this.#deps.log.info({ marks: this.#marks.size }, 'loaded unavailable offerings')
    for (const resolve of this.#onSynced) resolve()
    this.#onSynced = []
  }

  /** Combines stored marks with those about to be stored. */
  #refresh(): void {
    const now = this.#deps.now()
    const marks = changed(keptMarks(this.#stored?.marks ?? noMarks, now), this.#waiting, now)
    const isCleared = [...liveMarks(this.#marks, now).keys()].some((key) => !marks.has(key))
    this.#show(marks, blockAlike(marks, this.#marks) ? 0 : 1)
    if (isCleared) for (const listener of this.#listeners) listener()
  }

  /** Calls the listener after each change of marks. Returns the function that removes it. */
  onChanged(listener: () => void): () => void {
    this.#changeListeners.add(listener)
    return () => this.#changeListeners.delete(listener)
  }

  #show(marks: Marks, news: number): void {
    this.#marks = marks
    for (const listener of this.#changeListeners) listener()
    this.#findNextEnd(this.#deps.now())
    this.#version += news
  }

  #expire(): void {
    const now = this.#deps.now()
    // What had ended by a time to come has not ended after the clock was set back.
    if (now >= this.#foundMs && now < this.#nextEndMs) return
    this.#marks = keptMarks(this.#marks, now)
    this.#findNextEnd(now)
    this.#version += 1
  }

  #findNextEnd(now: number): void {
    this.#nextEndMs = nextEnd(this.#marks, now)
    this.#foundMs = now
  }
}

const changed = (marks: Marks, waiting: readonly Waiting[], nowMs: number) =>
  waiting.reduce((before, { change }) => change(before, nowMs), marks)
