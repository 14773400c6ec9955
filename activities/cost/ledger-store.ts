import { parseLedgerMap } from '../../api/kept/ledger-map.ts'
import { hourMs, hourOf } from '../../core/cost/bill.ts'
import { type LedgerEntries, type LedgerHours, ledgerEntries, ledgerMapOf } from '../../core/cost/ledger-format.ts'
import { addSlices, type CostSlice, coveredUntil } from '../../core/cost/slice.ts'
import type { Json } from '../kubernetes/client/answers.ts'
import { isConflict, isNotFound } from '../kubernetes/client/api-error.ts'
import { type KeptSource, readConfigMap } from '../kubernetes/client/config-map.ts'
import { resourcePath } from '../kubernetes/client/resources.ts'

interface StoredMap {
  readonly entries: LedgerEntries
  /** Absent: there is no such ConfigMap. */
  readonly resourceVersion?: string
}

const dayMs = 24 * hourMs
/** Attempts to write while another process writes, too. */
const mostAttempts = 5

/**
 * The hours of the ledger in ConfigMaps. Each write is locked by the version that it was decided from, and a time that is stored already is not added again.
 */
export class LedgerStore {
  readonly #source: KeptSource
  /** By name; what this process wrote or read last. */
  readonly #known = new Map<string, StoredMap>()

  constructor(source: KeptSource) {
    this.#source = source
  }

  /** Returns up to when the ledger of today and yesterday is stored, in epoch ms. Errors: the API server's. */
  async storedUntil(now: number): Promise<number | undefined> {
    const stored = await Promise.all([now - dayMs, now].map((ms) => this.#read(ledgerMapOf(ms))))
    return coveredUntil(stored.flatMap(({ entries }) => [...parseLedgerMap(entries).hours.values()]))
  }

  /** Makes the ConfigMap of a time where it is missing. Errors: the API server's. */
  async prepare(ms: number): Promise<void> {
    const name = ledgerMapOf(ms)
    if ((await this.#read(name)).resourceVersion === undefined) await this.#create(name, {})
  }

  /** Adds slices. Returns the size of the greatest ConfigMap that was written, in characters. Errors: the API server's; then some days may be written. */
  async add(slices: readonly CostSlice[]): Promise<number> {
    let longest = 0
    for (const [name, own] of Map.groupBy(slices, ({ fromMs }) => ledgerMapOf(fromMs)))
      longest = Math.max(longest, await this.#addTo(name, own))
    return longest
  }

  async #addTo(name: string, slices: readonly CostSlice[]): Promise<number> {
    for (let attempt = 1; ; attempt++) {
      const stored = this.#known.get(name) ?? (await this.#read(name))
      const changes = changesOf(stored.entries, slices)
      try {
        if (Object.keys(changes).length > 0) await this.#write(name, stored, changes)
        return sizeOf(this.#known.get(name)?.entries ?? {})
      } catch (error) {
        this.#known.delete(name)
        const isLost = isConflict(error) || isNotFound(error)
        if (!isLost || attempt === mostAttempts) throw error
      }
    }
  }

  async #read(name: string): Promise<StoredMap> {
    try {
      const stored = this.#remember(name, await this.#source.client.get(this.#path(name)))
      this.#source.note?.(name, parseLedgerMap(stored.entries).faults)
      return stored
    } catch (error) {
      if (isNotFound(error)) return { entries: {} }
      throw error
    }
  }

  async #write(name: string, stored: StoredMap, data: Readonly<Record<string, string | null>>): Promise<void> {
    if (stored.resourceVersion === undefined) return this.#create(name, data)
    const { resourceVersion } = stored
    this.#remember(
      name,
      await this.#source.client.mergePatch(this.#path(name), { metadata: { resourceVersion }, data }),
    )
  }

  async #create(name: string, entries: Readonly<Record<string, string | null>>): Promise<void> {
    const data = Object.fromEntries(Object.entries(entries).filter(([, text]) => text !== null))
    const metadata = {
      name,
      namespace: this.#source.namespace,
      labels: { 'app.kubernetes.io/managed-by': 'joiner', 'joiner.sh/cost': 'true' },
    }
    const path = resourcePath('configmaps', undefined, this.#source.namespace)
    this.#remember(
      name,
      await this.#source.client.create(path, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }),
    )
  }

  #remember(name: string, { metadata, data }: Json): StoredMap {
    const { resourceVersion } = metadata as { readonly resourceVersion: string }
    const stored = { resourceVersion, entries: (data ?? {}) as LedgerEntries }
    this.#known.set(name, stored)
    return stored
  }

  #path(name: string): string {
    return resourcePath('configmaps', name, this.#source.namespace)
  }
}

/** The entries that change; none when all of it is stored. */
function changesOf(entries: LedgerEntries, slices: readonly CostSlice[]): Readonly<Record<string, string | null>> {
  const { hours: stored } = parseLedgerMap(entries)
  const added = addSlices(stored, slices)
  const touched = new Set(slices.map(({ fromMs }) => hourOf(fromMs)))
  const changed = [...added].filter(([atMs, hour]) => touched.has(atMs) && stored.get(atMs) !== hour)
  return changed.length === 0 ? {} : ledgerEntries(new Map(changed), entries)
}

function sizeOf(entries: LedgerEntries): number {
  return Object.values(entries).reduce((sum, text) => sum + text.length, 0)
}

/** Returns the stored hours of a window, by their beginning in epoch ms. Errors: the API server's. */
export async function readLedger(
  { client, namespace, note }: KeptSource,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): Promise<LedgerHours> {
  const names = new Set<string>()
  for (let ms = fromMs; ms < toMs; ms += hourMs) names.add(ledgerMapOf(ms))
  const maps = await Promise.all(
    [...names].map(async (name) => {
      const { hours, faults } = parseLedgerMap((await readConfigMap(client, { name, namespace })) ?? {})
      note?.(name, faults)
      return hours
    }),
  )
  const hours = maps.flatMap((each) => [...each])
  const first = hourOf(fromMs)
  return new Map(hours.filter(([atMs]) => atMs >= first && atMs < toMs).toSorted(([a], [b]) => a - b))
}
