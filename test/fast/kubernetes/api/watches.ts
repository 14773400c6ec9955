import type { Json, WatchEvent } from '../../../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../../../activities/kubernetes/client/api-error.ts'
import { SimulatedProcess } from '../../simulated-process.ts'
import { jsonCopy } from './json-copy.ts'
import { namespaceOf, targetOf } from './paths.ts'
import { selection } from './selectors.ts'

/** A change of an object, as it is told to watches and controllers. */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly resource: string
  readonly path: string
  /** As it is stored, not a copy; one that was deleted as it was last. */
  readonly object: Json
  /** As it was stored before. */
  readonly before?: Json
  readonly version: number
}

export interface WatchOptions {
  readonly signal: AbortSignal
  /** Undefined or empty: from now on. */
  readonly resourceVersion?: string
  readonly onOpen?: () => void
}

/** How watches are served. */
export interface Watching {
  /** Time from a change to its event. */
  lagMs: number
  /** Time between bookmarks. */
  bookmarkMs: number
  /** Time after which the server ends a watch. */
  endMs: number
  /** Changes that can still be asked for. */
  kept: number
}

const never = Number.POSITIVE_INFINITY

/** What changed, as far back as an API server remembers, and who watches it. */
export class Watches {
  readonly serving: Watching = { lagMs: 0, bookmarkMs: never, endMs: never, kept: 10_000 }
  readonly #log: Change[] = []
  readonly #watchers = new Map<string, Set<(change: Change) => void>>()
  readonly #ends = new Set<() => void>()
  readonly #now: () => number
  /** The newest version whose changes are forgotten. */
  #forgotten: number

  /** `now`: the current version. */
  constructor(now: () => number) {
    this.#now = now
    this.#forgotten = now()
  }

  note(change: Change): void {
    this.#log.push(change)
    const { kept } = this.serving
    // Forgotten at once, and taken away now and then.
    if (this.#log.length > kept) this.#forgotten = this.#log.at(-kept - 1)?.version ?? this.#forgotten
    if (this.#log.length > 2 * kept) this.#log.splice(0, this.#log.length - kept)
    for (const hear of this.#watchers.get(change.resource) ?? []) hear(change)
  }

  /** Forgets all changes: a watch from before now is refused with 410. */
  forget(): void {
    this.#forgotten = this.#log.splice(0).at(-1)?.version ?? this.#forgotten
  }

  /** Ends all watches, with what has happened and not arrived yet. */
  end(): void {
    for (const end of this.#ends) end()
  }

  /** Whether what came after this version is not known any more. */
  isForgotten(resourceVersion: string): boolean {
    return Number(resourceVersion) < this.#forgotten
  }

  /** Errors: 410 where the version is forgotten. */
  async *watch(url: string, { signal, resourceVersion = '', onOpen }: WatchOptions): AsyncGenerator<WatchEvent> {
    const { resource, namespace, query } = targetOf(url)
    const isSelected = selection(Object.fromEntries(query))
    const events: WatchEvent[] = []
    let isEnded = false
    let wake = () => {}
    const tell = (event: WatchEvent | undefined) => {
      if (event !== undefined) events.push(event)
      wake()
    }
    const hear = (change: Change) => {
      if (namespace === undefined || namespaceOf(change.path) === namespace)
        this.#deliver(eventOf(change, isSelected), tell)
    }
    onOpen?.()
    if (resourceVersion !== '') {
      if (this.isForgotten(resourceVersion))
        throw new ApiError(410, 'Expired', `watch: too old resource version: ${resourceVersion} (${this.#forgotten})`)
      for (const change of this.#log)
        if (change.version > Number(resourceVersion) && change.resource === resource) hear(change)
    }
    const ofResource = this.#watchers.get(resource) ?? new Set()
    this.#watchers.set(resource, ofResource.add(hear))
    const abort = () => wake()
    signal.addEventListener('abort', abort, { once: true })
    const end = () => {
      isEnded = true
      wake()
    }
    const stop = this.#timers(tell, end)
    this.#ends.add(end)
    try {
      for (;;) {
        if (signal.aborted) return
        const event = events.shift()
        if (event !== undefined) yield event
        else if (isEnded) return
        else
          await new Promise<void>((resolve) => {
            wake = resolve
          })
      }
    } finally {
      stop()
      this.#ends.delete(end)
      ofResource.delete(hear)
      signal.removeEventListener('abort', abort)
    }
  }

  #deliver(event: WatchEvent | undefined, tell: (event: WatchEvent | undefined) => void): void {
    const { lagMs } = this.serving
    if (event === undefined) return
    if (lagMs <= 0) tell(event)
    else SimulatedProcess.outside(() => setTimeout(() => tell(event), lagMs))
  }

  /** Bookmarks and the end. They come after the events that lag. Returns what stops them. */
  #timers(tell: (event: WatchEvent) => void, end: () => void): () => void {
    const { bookmarkMs, endMs } = this.serving
    const bookmark = () => {
      const metadata = { resourceVersion: String(this.#now()) }
      this.#deliver({ type: 'BOOKMARK', object: { metadata }, size: 0 }, (event) => event && tell(event))
    }
    return SimulatedProcess.outside(() => {
      const bookmarks = bookmarkMs === never ? undefined : setInterval(bookmark, bookmarkMs)
      const last = endMs === never ? undefined : setTimeout(end, endMs)
      return () => {
        clearInterval(bookmarks)
        clearTimeout(last)
      }
    })
  }
}

/** An object that is not selected any more is gone for who watches, and one that begins to be is new. */
function eventOf({ type, object, before }: Change, isSelected: (object: Json) => boolean): WatchEvent | undefined {
  const was = before !== undefined && isSelected(before)
  const is = type !== 'DELETED' && isSelected(object)
  if (!was && !is) return undefined
  const seen = is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED'
  return { type: seen, object: jsonCopy(object), size: 0 }
}
