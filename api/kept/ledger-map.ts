import { z } from 'zod'
import { hourMs } from '../../core/cost/bill.ts'
import { dayEntry, type LedgerHours, ledgerVersion, type StoredHour } from '../../core/cost/ledger-format.ts'
import type { LedgerHour } from '../../core/cost/slice.ts'
import { amount, type Entries, epochMs, type KeptFault, readEntries, readJson, readValue, words } from './document.ts'

const key = words(200)
/** USD and hours. An hour's costs are small; what is rounded may be below 0. */
const share = amount(-1e9, 1e9)
const rows = z.array(z.tuple([key, share])).max(1000)

const stored: z.ZodType<StoredHour> = z.object({
  v: z.literal(ledgerVersion, { error: 'another version of Joiner has written it' }),
  covered: z.array(z.tuple([epochMs, epochMs])).max(1000),
  pools: z.array(z.tuple([key, share, share, share, share])).max(1000),
  namespaces: rows,
  otherNamespaces: share,
  workloads: rows,
  otherWorkloads: share,
})

const hour = stored.transform(
  ({ covered, pools, namespaces, otherNamespaces, workloads, otherWorkloads }): LedgerHour => ({
    covered: covered.map(([fromMs, toMs]) => ({ fromMs, toMs })),
    pools: new Map(
      pools.map(([name, usd, idle, nodeHours, unpricedHours]) => [name, { usd, idle, nodeHours, unpricedHours }]),
    ),
    namespaces: { byKey: new Map(namespaces), other: otherNamespaces },
    workloads: { byKey: new Map(workloads), other: otherWorkloads },
  }),
)

const day = z.iso.date()
const hourEntry = /^([01][0-9]|2[0-3])$/

/** Returns the hours of a ConfigMap of the ledger. */
export function parseLedgerMap(entries: Entries): {
  readonly hours: LedgerHours
  readonly faults: readonly KeptFault[]
} {
  const read = readValue(day, entries[dayEntry])
  const faults: readonly KeptFault[] = read.kind === 'damaged' ? [{ key: dayEntry, why: read.why }] : []
  if (read.kind === 'damaged') return { hours: new Map(), faults: Object.keys(entries).length === 0 ? [] : faults }
  const startMs = Date.parse(`${read.value}T00:00:00Z`)
  const { documents, ...found } = readEntries(entries, (name, text) =>
    hourEntry.test(name) ? readJson(hour, text) : undefined,
  )
  return { hours: new Map([...documents].map(([name, one]) => [startMs + Number(name) * hourMs, one])), ...found }
}
