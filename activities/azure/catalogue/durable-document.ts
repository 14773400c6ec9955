import { promisify } from 'node:util'
import { gunzip, gzip, type ZlibOptions } from 'node:zlib'
import type { Logger } from 'pino'
import { ListWatch } from '../../kubernetes/cache/list-watch.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { isConflict, isNotFound } from '../../kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import { resourcePath } from '../../kubernetes/client/resources.ts'

const compress = (text: string): Promise<Buffer> => promisify(gzip)(text)
const decompress = (bytes: Buffer, options: ZlibOptions): Promise<Buffer> => promisify(gunzip)(bytes, options)

/** The entry of `binaryData` that holds the document. */
const entry = 'document.json.gz'
/** Most bytes: a ConfigMap accepts 1 MiB with all its entries. */
const mostBytes = 1_000_000
/** Most bytes of a document that is unpacked: a small ConfigMap may unpack to more than a process has. Sizes of a region have some MiB. */
const mostUnpackedBytes = 32 * 2 ** 20
const mostAttempts = 8

/** An external answer that is worth keeping, as JSON, with the time at which it was read. */
export interface StoredDocument {
  readonly json: unknown
  readonly readAtMs: number
}

/**
 * A JSON document in a ConfigMap, compressed, so that every replica and every restart has what one of them has read. Of several writers the
 * one with the latest reading wins. Its subject (a region, say) is written beside it: a document about another subject counts as none.
 */
export class DurableDocument {
  readonly #client: KubernetesClient
  readonly #namespace: string
  readonly #name: string
  readonly #about: Readonly<Record<string, string>>

  constructor(
    client: KubernetesClient,
    place: { readonly namespace: string; readonly name: string; readonly about: Readonly<Record<string, string>> },
  ) {
    this.#client = client
    this.#namespace = place.namespace
    this.#name = place.name
    this.#about = place.about
  }

  /** Reads the document if it is there and was read later than `newerThanMs`. Errors: the API server's, and those of a broken document. */
  async read(newerThanMs = Number.NEGATIVE_INFINITY): Promise<StoredDocument | undefined> {
    const map = await this.#map()
    const readAtMs = map === undefined ? undefined : this.#readAt(map)
    return map === undefined || readAtMs === undefined || readAtMs <= newerThanMs ? undefined : this.#stored(map)
  }

  /**
   * Passes on the document as it is stored now and after each change, until the returned function is called. The process needs the right to list
   * and watch the ConfigMap by name. A document that cannot be read is logged.
   */
  follow(changed: (document: StoredDocument) => void, log: Logger): () => void {
    const take = (map: Json | undefined) => {
      if (map === undefined) return
      this.#stored(map).then(
        (document) => document !== undefined && changed(document),
        (error: unknown) => log.warn({ err: error }, 'failed to read stored document'),
      )
    }
    const path = `${resourcePath('configmaps', undefined, this.#namespace)}?fieldSelector=metadata.name%3D${this.#name}`
    const handlers = { replaced: ([map]: readonly Json[]) => take(map), changed: take, deleted() {}, reached() {} }
    const watch = new ListWatch({ client: this.#client, path, log }, handlers)
    void watch.run()
    return () => watch.stop()
  }

  /** Writes the document, unless a later one is there. Errors: it is too large, or the API server's. */
  async write({ json, readAtMs }: StoredDocument): Promise<void> {
    const packed = await compress(JSON.stringify(json))
    if (packed.length > mostBytes) {
      throw new Error(
        `ConfigMap ${this.#namespace}/${this.#name}: ${packed.length} bytes are more than a ConfigMap holds; it is not kept`,
      )
    }
    const body = {
      data: { ...this.#about, readAt: new Date(readAtMs).toISOString() },
      binaryData: { [entry]: packed.toString('base64') },
    }
    for (let attempt = 1; ; attempt++) {
      const map = await this.#map()
      if (map !== undefined && (this.#readAt(map) ?? Number.NEGATIVE_INFINITY) >= readAtMs) return
      try {
        await this.#put(map, body)
        return
      } catch (error) {
        if (!isConflict(error) || attempt >= mostAttempts) throw error
      }
    }
  }

  /** Returns the document in a ConfigMap; undefined when it is about another subject. Errors: the document is damaged. */
  async #stored(map: Json): Promise<StoredDocument | undefined> {
    const readAtMs = this.#readAt(map)
    const packed = (map['binaryData'] as Record<string, string> | undefined)?.[entry]
    if (readAtMs === undefined || packed === undefined) return undefined
    try {
      return {
        json: JSON.parse(
          (await decompress(Buffer.from(packed, 'base64'), { maxOutputLength: mostUnpackedBytes })).toString(),
        ),
        readAtMs,
      }
    } catch (error) {
      throw new Error(`ConfigMap ${this.#namespace}/${this.#name}: ${entry} cannot be read; delete the ConfigMap`, {
        cause: error,
      })
    }
  }

  async #put(map: Json | undefined, body: Json): Promise<void> {
    const { resourceVersion } = (map?.['metadata'] ?? {}) as { resourceVersion?: string }
    if (map === undefined) {
      await this.#client.create(resourcePath('configmaps', undefined, this.#namespace), {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: this.#name, namespace: this.#namespace },
        ...body,
      })
    } else {
      await this.#client.mergePatch(this.#path, { metadata: { resourceVersion }, ...body })
    }
  }

  async #map(): Promise<Json | undefined> {
    try {
      return await this.#client.get(this.#path)
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  /** Returns when the document was read; undefined when it is about another subject. */
  #readAt(map: Json): number | undefined {
    const data = (map['data'] ?? {}) as Readonly<Record<string, string>>
    if (Object.entries(this.#about).some(([key, value]) => data[key] !== value)) return undefined
    const readAtMs = Date.parse(data['readAt'] ?? '')
    return Number.isNaN(readAtMs) ? undefined : readAtMs
  }

  get #path(): string {
    return resourcePath('configmaps', this.#name, this.#namespace)
  }
}
