import type { Logger } from 'pino'
import { pauseOf } from '../../abortable-wait.ts'
import type { Json, ListResult, ParseLarge } from '../client/answers.ts'
import { ApiError, isGone } from '../client/api-error.ts'
import type { KubernetesClient } from '../client/client.ts'

export interface ListWatchHandlers {
  readonly parseLarge?: ParseLarge
  /** Objects of a list, as its pages come. Then `replaced` gets only their names, so that no more than a page is held in wire form. */
  readonly listed?: (page: ListResult) => void
  /** The complete list, at the start and after a version was forgotten: objects that are missing from it are gone. */
  readonly replaced: (objects: readonly Json[], resourceVersion: string) => void
  /** `size`: its characters on the wire. */
  readonly changed: (object: Json, size: number) => void
  readonly deleted: (object: Json) => void
  /** A bookmark: everything up to this version has been reported. */
  readonly reached: (resourceVersion: string) => void
  /** The watch is interrupted, or connected again. */
  readonly connected?: (isConnected: boolean) => void
  /** A list or a watch failed, and is tried again. A version that expired is no failure. */
  readonly failed?: (error: unknown) => void
}

interface WatchedResource {
  readonly client: KubernetesClient
  /** Path of the resource's list, with its query. */
  readonly path: string
  readonly log: Logger
}

/** Silence after which the connection counts as dead: the server sends a bookmark each minute. */
const idleMs = 75_000
/** A watch that ends sooner has failed, whatever it brought: the next one would end as soon. */
const shortestMs = 1000
/** After a watch of this length earlier failures count no more. One that ends sooner and brought nothing has failed too. */
const steadyMs = 10_000
/** A version that is forgotten so soon after a list is likely to be forgotten again after the next one. */
const freshListMs = 60_000
/** Replicas whose versions are forgotten in the same moment list again at different times. */
const listSpreadMs = 1000
const backoff = { firstMs: 200, factor: 3, longestMs: 15_000, longestGoneMs: 30_000, firstGoneFailures: 3 } as const
/** Longest wait that the server may ask for. */
const longestAskedMs = 60_000

/**
 * Keeps a local copy of one resource: pages through a list, then watches with bookmarks, for ever. It resumes from the last version
 * it received, and lists again when that version is forgotten (410). It backs off with jitter while lists or watches fail, end at once, or bring nothing:
 * at most ten requests in the first minute, however the server answers.
 * It never stops by itself; the library's informer does, which is why this class exists (reference/temporal.md 9.3).
 */
export class ListWatch {
  readonly #client: KubernetesClient
  readonly #path: string
  readonly #handlers: ListWatchHandlers
  readonly #log: Logger
  readonly #stop = new AbortController()
  #resourceVersion: string | undefined
  #failures = 0
  #isReported = false
  #listedAtMs = Number.NEGATIVE_INFINITY
  /** The watch that runs, or ran last: undefined before the server accepted it. */
  #watching: { readonly sinceMs: number; hasBrought: boolean } | undefined

  constructor({ client, path, log }: WatchedResource, handlers: ListWatchHandlers) {
    this.#client = client
    this.#path = path
    this.#handlers = handlers
    this.#log = log
  }

  /** Runs until stopped. */
  async run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#watching = undefined
      let error: unknown
      try {
        if (this.#resourceVersion === undefined) await this.#list()
        await this.#watch()
      } catch (thrown) {
        error = thrown
      }
      if (this.#stop.signal.aborted) return
      const pauseMs = this.#pauseAfter(error)
      if (pauseMs === 0) continue
      // Changes are missing until the next watch is open.
      this.#handlers.connected?.(false)
      await pauseOf(pauseMs, this.#stop.signal)
    }
  }

  stop(): void {
    this.#stop.abort()
  }

  async #list(): Promise<void> {
    const { objects, resourceVersion } = await readList(
      this.#client.listPages(this.#path, { signal: this.#stop.signal, parseLarge: this.#handlers.parseLarge }),
      this.#handlers.listed,
    )
    this.#resourceVersion = resourceVersion
    // At its end: a large one takes longer than its version is fresh.
    this.#listedAtMs = performance.now()
    this.#handlers.replaced(objects, resourceVersion)
  }

  async #watch(): Promise<void> {
    const resourceVersion = this.#resourceVersion as string
    for await (const { type, object, size } of this.#client.watch(this.#path, {
      resourceVersion,
      signal: this.#stop.signal,
      idleMs,
      parseLarge: this.#handlers.parseLarge,
      onOpen: () => {
        this.#watching = { sinceMs: performance.now(), hasBrought: false }
        this.#handlers.connected?.(true)
      },
    })) {
      const version = (object['metadata'] as { resourceVersion: string }).resourceVersion
      if (type === 'DELETED') this.#handlers.deleted(object)
      else if (type !== 'BOOKMARK') this.#handlers.changed(object, size)
      this.#resourceVersion = version
      this.#handlers.reached(version)
      if (this.#watching !== undefined) this.#watching.hasBrought = true
      if (this.#watchedMs() >= steadyMs) this.#recovered()
    }
  }

  #recovered(): void {
    if (this.#isReported) this.#log.info({ path: this.#path }, 'watch recovered')
    this.#isReported = false
    this.#failures = 0
  }

  /** Returns how long the last watch has been open. */
  #watchedMs(): number {
    return this.#watching === undefined ? 0 : performance.now() - this.#watching.sinceMs
  }

  /**
   * Judges how a list or a watch ended. Returns the pause before the next one; 0 after a watch that did its work. `error`: undefined when the
   * server ended it.
   */
  #pauseAfter(error: unknown): number {
    const watchedMs = this.#watchedMs()
    if (watchedMs >= steadyMs) this.#recovered()
    if (isGone(error)) return this.#pauseAfterGone()
    if (error === undefined && watchedMs >= steadyMs) return 0
    const isIdle = watchedMs < shortestMs || this.#watching?.hasBrought !== true
    if (error !== undefined || isIdle)
      this.#failed(error ?? new Error(`the watch ended after ${Math.round(watchedMs)} ms`))
    return Math.max(this.#backoffMs(backoff.longestMs), askedMs(error))
  }

  /** A version that expired is no failure, unless that of a fresh list did, or of a list that is being read. */
  #pauseAfterGone(): number {
    const isWatched = this.#resourceVersion !== undefined
    this.#resourceVersion = undefined
    this.#log.debug({ path: this.#path }, 'watched version expired, listing again')
    if (isWatched && performance.now() - this.#listedAtMs >= freshListMs) return 1 + Math.random() * listSpreadMs
    this.#failures = Math.max(this.#failures, backoff.firstGoneFailures - 1)
    this.#failed(new Error('the version of a fresh list expired'))
    return this.#backoffMs(backoff.longestGoneMs)
  }

  #failed(error: unknown): void {
    this.#handlers.failed?.(error)
    this.#failures += 1
    // A single failure is the day's work.
    if (this.#failures < 2 || this.#isReported) return
    this.#isReported = true
    this.#log.warn({ path: this.#path, err: error }, 'watch interrupted, retrying with back-off')
  }

  #backoffMs(longestMs: number): number {
    const ceilingMs = Math.min(longestMs, backoff.firstMs * backoff.factor ** (Math.max(1, this.#failures) - 1))
    return ceilingMs * (0.75 + Math.random() / 4)
  }
}

/** Returns the pause that the server asks for, within reason and apart from those of others who were asked the same. */
function askedMs(error: unknown): number {
  const seconds = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) : 0
  return Math.min(longestAskedMs, Math.max(0, seconds * 1000)) * (1 + Math.random() / 10)
}

/** Reads a whole list. With `listed` the objects go there page by page, and only their names are returned. */
export async function readList(
  pages: AsyncIterable<ListResult>,
  listed: ListWatchHandlers['listed'],
): Promise<{ readonly objects: readonly Json[]; readonly resourceVersion: string }> {
  const objects: Json[] = []
  let resourceVersion = ''
  for await (const page of pages) {
    listed?.(page)
    for (const item of page.items) objects.push(listed === undefined ? item : { metadata: namesOf(item) })
    resourceVersion = page.resourceVersion
  }
  return { objects, resourceVersion }
}

function namesOf({ metadata }: Json): Json {
  const { name, namespace } = metadata as Json
  return { name, ...(namespace === undefined ? {} : { namespace }) }
}
