import { promisify } from 'node:util'
import { gunzip, gzip, type ZlibOptions } from 'node:zlib'
import type { Logger } from 'pino'
import type { z } from 'zod'
import { damaged, type KeptFault, type NoteFaults, readJson } from '../../../api/kept/document.ts'
import { ListWatch } from '../../kubernetes/cache/list-watch.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { isConflict } from '../../kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import { type ConfigMap, findConfigMap, putConfigMap, watchPath } from '../../kubernetes/client/config-map.ts'

const compress = (text: string): Promise<Buffer> => promisify(gzip)(text)
const decompress = (bytes: Buffer, options: ZlibOptions): Promise<Buffer> => promisify(gunzip)(bytes, options)

/** The entry of `binaryData` that holds the document. */
const entry = 'document.json.gz'
/** Most bytes: a ConfigMap accepts 1 MiB with all its entries. */
const mostBytes = 1_000_000
/** Most bytes of a document that is unpacked: a small ConfigMap may unpack to more than a process has. The sizes of a region have 0.4 MB. */
const mostUnpackedBytes = 4 * 2 ** 20
const mostAttempts = 8
/** How far ahead of this process' clock a reading may be: as far as clocks of machines differ. One of a clock that was wrong would stand until that time comes. */
const mostAheadMs = 5 * 60_000

/** What a ConfigMap keeps. */
export interface KeptFormat<T> {
  /** That of the ConfigMap. */
  readonly name: string
  /** Documents of another version of the format are not used. */
  readonly version: string
  /** Between the document and its JSON. */
  readonly schema: z.ZodType<T>
}

/** An external answer that is worth keeping, with the time at which it was read. */
export interface KeptAnswer<T> {
  readonly value: T
  readonly readAtMs: number
}

export type FoundAnswer<T> =
  | ({ readonly kind: 'read' } & KeptAnswer<T>)
  /** There is none, or it is about another subject. */
  | { readonly kind: 'none' }
  /** The ConfigMap is as it was when it was read last. */
  | { readonly kind: 'same' }
  | { readonly kind: 'damaged'; readonly fault: KeptFault }

interface Place {
  readonly namespace: string
  /** Its subject (a region, say) is written beside it: a document about another subject counts as none. */
  readonly about: Readonly<Record<string, string>>
  readonly now: () => number
  /** Takes what cannot be read. Unset: the reader says it. */
  readonly note?: NoteFaults
}

/**
 * A document in a ConfigMap, compressed, so that every replica and every restart has what one of them has read. Of several writers the
 * one with the latest reading wins. A document that is damaged counts as none, and the next one that is written replaces it.
 */
export class DurableDocument<T> {
  readonly #client: KubernetesClient
  readonly #format: KeptFormat<T>
  readonly #place: Place
  /** Version of the ConfigMap that was read last, and needs no second look. */
  #seen: string | undefined

  constructor(client: KubernetesClient, format: KeptFormat<T>, place: Place) {
    this.#client = client
    this.#format = format
    this.#place = place
  }

  /** Reads the document, unless it is the one that was read before. Errors: the API server's. */
  async read(): Promise<FoundAnswer<T>> {
    const seen = this.#seen
    const map = await findConfigMap(this.#client, this.#ref)
    return map === undefined ? this.#noted({ kind: 'none' }) : this.#look(map, seen)
  }

  /**
   * Passes on the document as it is stored now and after each change, until the returned function is called. The process needs the right to list
   * and watch the ConfigMap by name.
   */
  follow(changed: (answer: KeptAnswer<T>) => void, log: Logger): () => void {
    const take = (map: Json | undefined) => {
      if (map !== undefined)
        void this.#look(map as ConfigMap, this.#seen).then((found) => found.kind === 'read' && changed(found))
    }
    const deleted = () => void this.#noted({ kind: 'none' })
    const handlers = { replaced: ([map]: readonly Json[]) => take(map), changed: take, deleted, reached() {} }
    const watch = new ListWatch({ client: this.#client, path: watchPath(this.#ref), log }, handlers)
    void watch.run()
    return () => watch.stop()
  }

  /** Writes the document, unless a later one is there. Errors: it is too large or not of its format, or the API server's. */
  async write({ value, readAtMs }: KeptAnswer<T>): Promise<void> {
    const { name, version, schema } = this.#format
    const packed = await compress(JSON.stringify(schema.encode(value)))
    if (packed.length > mostBytes) {
      throw new Error(
        `ConfigMap ${this.#place.namespace}/${name}: ${packed.length} bytes are more than a ConfigMap holds; it is not kept`,
      )
    }
    const body = {
      data: { ...this.#place.about, format: version, readAt: new Date(readAtMs).toISOString() },
      binaryData: { [entry]: packed.toString('base64') },
    }
    for (let attempt = 1; ; attempt++) {
      const map = await findConfigMap(this.#client, this.#ref)
      if (map !== undefined && Date.parse(map.data?.['readAt'] ?? '') >= readAtMs) {
        if ((await this.#open(map)).kind === 'read') return
      }
      try {
        const place = { ...this.#ref, version: map && versionOf(map) }
        this.#seen = versionOf(await putConfigMap(this.#client, place, body))
        this.#noted({ kind: 'none' })
        return
      } catch (error) {
        if (!isConflict(error) || attempt >= mostAttempts) throw error
      }
    }
  }

  /** `seen`: that of the moment when the map was asked for. */
  async #look(map: ConfigMap, seen: string | undefined): Promise<FoundAnswer<T>> {
    const version = versionOf(map)
    if (version !== undefined && version === this.#seen) return { kind: 'same' }
    const found = await this.#open(map)
    // A newer version was read or written meanwhile. The fault of this one would stay, since nobody reads it again.
    if (found.kind === 'damaged' && this.#seen !== seen) return found
    if (found.kind !== 'damaged') this.#seen = version
    return this.#noted(found)
  }

  #noted(found: FoundAnswer<T>): FoundAnswer<T> {
    this.#place.note?.(this.#format.name, found.kind === 'damaged' ? [found.fault] : [])
    return found
  }

  async #open({ data = {}, binaryData }: ConfigMap): Promise<FoundAnswer<T>> {
    const { about, now } = this.#place
    const fault = (key: string, why: string) => ({ kind: 'damaged', fault: { key, ...damaged(why) } }) as const
    if (Object.entries(about).some(([key, value]) => data[key] !== value)) return { kind: 'none' }
    const { format, readAt = '' } = data
    if (format !== this.#format.version)
      return fault(
        'format',
        `it is ${JSON.stringify(format)}, and this version of Joiner reads "${this.#format.version}"`,
      )
    const readAtMs = Date.parse(readAt)
    if (Number.isNaN(readAtMs)) return fault('readAt', `it is ${JSON.stringify(readAt)}, which is no time`)
    if (readAtMs - now() > mostAheadMs) return fault('readAt', `it is ${readAt}, which is in the future`)
    const packed = binaryData?.[entry]
    if (packed === undefined) return fault(entry, 'it is missing')
    let text: string
    try {
      text = (await decompress(Buffer.from(packed, 'base64'), { maxOutputLength: mostUnpackedBytes })).toString()
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      return fault(entry, `it does not unpack to at most ${mostUnpackedBytes / 2 ** 20} MiB (${why})`)
    }
    const read = readJson(this.#format.schema, text)
    return read.kind === 'damaged' ? fault(entry, read.why) : { kind: 'read', value: read.value, readAtMs }
  }

  get #ref() {
    return { name: this.#format.name, namespace: this.#place.namespace }
  }
}

const versionOf = ({ metadata }: Partial<ConfigMap>) => metadata?.resourceVersion
