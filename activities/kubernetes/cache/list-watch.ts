import type { Logger } from 'pino'
import type { Json, ListResult, ParseLarge } from '../client/answers.ts'
import { isGone } from '../client/api-error.ts'
import type { KubernetesClient } from '../client/client.ts'

export interface ListWatchHandlers {
  /** Parses large texts. */
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

/** The watched resource, and the settings of its watch. */
interface WatchedResource {
  readonly client: KubernetesClient
  /** Path of the resource's list, with its query. */
  readonly path: string
  readonly log: Logger
}

/** Silence after which the connection counts as dead: the server sends a bookmark each minute. */
const idleMs = 75_000
const maxBackoffMs = 10_000

/**
 * Keeps a local copy of one resource: pages through a list, then watches with bookmarks, for ever. It resumes from the last version
 * it received, and lists again when that version is forgotten (410). It backs off with jitter while the server cannot be reached.
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

  constructor({ client, path, log }: WatchedResource, handlers: ListWatchHandlers) {
    this.#client = client
    this.#path = path
    this.#handlers = handlers
    this.#log = log
  }

  /** Runs until stopped. */
  async run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        if (this.#resourceVersion === undefined) await this.#list()
        await this.#watch()
      } catch (error) {
        if (this.#stop.signal.aborted) return
        await this.#afterFailure(error)
      }
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
    this.#handlers.replaced(objects, resourceVersion)
    this.#recovered()
  }

  async #watch(): Promise<void> {
    const resourceVersion = this.#resourceVersion as string
    for await (const { type, object, size } of this.#client.watch(this.#path, {
      resourceVersion,
      signal: this.#stop.signal,
      idleMs,
      parseLarge: this.#handlers.parseLarge,
      onOpen: () => this.#handlers.connected?.(true),
    })) {
      const version = (object['metadata'] as { resourceVersion: string }).resourceVersion
      if (type === 'DELETED') this.#handlers.deleted(object)
      else if (type !== 'BOOKMARK') this.#handlers.changed(object, size)
      this.#resourceVersion = version
      this.#handlers.reached(version)
      this.#recovered()
    }
  }

  #recovered(): void {
    if (this.#failures > 1) this.#log.info({ path: this.#path }, 'watch recovered')
    this.#failures = 0
  }

  async #afterFailure(error: unknown): Promise<void> {
    // A version that expired is no failure, but until the list is there changes are missing.
    this.#handlers.connected?.(false)
    if (isGone(error)) {
      this.#resourceVersion = undefined
      this.#log.debug({ path: this.#path }, 'watched version expired, listing again')
      return
    }
    this.#handlers.failed?.(error)
    this.#failures += 1
    if (this.#failures === 2)
      this.#log.warn({ path: this.#path, err: error }, 'watch interrupted, retrying with back-off')
    const ceiling = Math.min(maxBackoffMs, 100 * 2 ** Math.min(this.#failures, 10))
    const delayMs = ceiling / 2 + (Math.random() * ceiling) / 2
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delayMs)
      this.#stop.signal.addEventListener(
        'abort',
        () => {
          clearTimeout(timer)
          resolve()
        },
        { once: true },
      )
    })
  }
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
