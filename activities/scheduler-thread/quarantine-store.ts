import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type Entries, instant, type KeptFault, readEntries, readJson, words } from '../../api/kept/document.ts'
import { longestCause, type QuarantineEntries, type QuarantineEntry, quarantineMs } from '../../core/quarantine.ts'
import { type KeptSource, readConfigMap, writeConfigMap } from '../kubernetes/client/config-map.ts'

const name = 'joiner-quarantine'

const stored = z
  .object({
    id: words(1000).regex(/^[^/]+\/./),
    hash: words(200),
    cause: words(longestCause),
    since: instant,
    until: instant,
  })
  .refine(({ since, until }) => until - since <= quarantineMs, {
    path: ['until'],
    error: 'an hour after since is right',
  })
  .transform(({ since, until, ...entry }): QuarantineEntry => ({ ...entry, sinceMs: since, untilMs: until }))

/** Returns an entry as text. */
export function formatEntry({ sinceMs, untilMs, ...entry }: QuarantineEntry): string {
  const time = (ms: number) => new Date(ms).toISOString()
  return JSON.stringify({ ...entry, since: time(sinceMs), until: time(untilMs) })
}

/** Returns the entries of a ConfigMap, the oldest first. */
export function parseEntries(data: Entries): {
  readonly entries: QuarantineEntries
  readonly faults: readonly KeptFault[]
} {
  const { documents, faults } = readEntries(data, (_, text) => readJson(stored, text))
  const entries = [...documents.values()].sort((a, b) => a.sinceMs - b.sinceMs)
  return { entries: new Map(entries.map((entry) => [entry.id, entry])), faults }
}

/** The ConfigMap in Joiner's namespace that holds quarantined objects, one entry each. Errors: the API server's. */
export class QuarantineStore {
  readonly #source: KeptSource
  readonly #ref: { readonly name: string; readonly namespace: string }
  /** Entries that cannot be read, and go with the next write. */
  #damaged: Readonly<Record<string, null>> = {}

  constructor(source: KeptSource) {
    this.#source = source
    this.#ref = { name, namespace: source.namespace }
  }

  async read(): Promise<QuarantineEntries> {
    const { entries, faults } = parseEntries((await readConfigMap(this.#source.client, this.#ref)) ?? {})
    this.#damaged = Object.fromEntries(faults.map(({ key }) => [key, null]))
    this.#source.note?.(name, faults)
    return entries
  }

  async add(entry: QuarantineEntry): Promise<void> {
    await this.#write({ [keyOf(entry.id)]: formatEntry(entry) })
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#write(Object.fromEntries(ids.map((id) => [keyOf(id), null])))
  }

  async #write(entries: Readonly<Record<string, string | null>>): Promise<void> {
    await writeConfigMap(this.#source.client, this.#ref, { ...this.#damaged, ...entries })
  }
}

/** Returns an id as a ConfigMap key, which takes no slashes. */
function keyOf(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 16)
}
