import { parseLedgerMap } from '../../api/kept/ledger-map.ts'
import { hourMs, hourOf } from '../../core/cost/bill.ts'
import { type LedgerEntries, type LedgerHours, ledgerEntries, ledgerMapOf } from '../../core/cost/ledger-format.ts'
import { addSlices, type CostSlice, coveredUntil } from '../../core/cost/slice.ts'
import { isGoneOrOther } from '../kubernetes/client/api-error.ts'
import {
  type ConfigMap,
  findConfigMap,
  type KeptSource,
  putConfigMap,
  readConfigMap,
} from '../kubernetes/client/config-map.ts'

interface StoredMap {
  readonly entries: LedgerEntries
  /** Absent: there is no such ConfigMap. */
  readonly resourceVersion?: string
}

const dayMs = 24 * hourMs
const ledgerLabels = { 'app.kubernetes.io/managed-by': 'joiner', 'joiner.sh/cost': 'true' }
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

  /** Returns up to when the ledger of today and yesterday is stored, in epoch ms. What a clock that was ahead stored does not count. Errors: the API server's. */
  async storedUntil(now: number): Promise<number | undefined> {
    const stored = await Promise.all([now - dayMs, now].map((ms) => this.#read(ledgerMapOf(ms))))
    return coveredUntil(
      stored.flatMap(({ entries }) => [...parseLedgerMap(entries).hours.values()]),
      now,
    )
  }

  /** Makes the ConfigMap of a time where it is missing. Errors: the API server's. */
  async prepare(ms: number): Promise<void> {
    const name = ledgerMapOf(ms)
    const stored = await this.#read(name)
    if (stored.resourceVersion === undefined) await this.#write(name, stored, {})
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
        if (!isGoneOrOther(error) || attempt === mostAttempts) throw error
      }
    }
  }

  async #read(name: string): Promise<StoredMap> {
    const map = await findConfigMap(this.#source.client, { name, namespace: this.#source.namespace })
    if (map === undefined) return { entries: {} }
    const stored = this.#remember(name, map)
    this.#source.note?.(name, parseLedgerMap(stored.entries).faults)
    return stored
  }

  async #write(name: string, stored: StoredMap, data: Readonly<Record<string, string | null>>): Promise<void> {
    const { client, namespace } = this.#source
    const { resourceVersion: version } = stored
    const isNew = version === undefined && { metadata: { labels: ledgerLabels } }
    this.#remember(name, await putConfigMap(client, { name, namespace, version }, { ...isNew, data }))
  }

  #remember(name: string, { metadata: { resourceVersion }, data: entries = {} }: ConfigMap): StoredMap {
    const stored = { resourceVersion, entries }
    this.#known.set(name, stored)
    return stored
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
