import { hourMs, type TimeRange } from './bill.ts'
import { type Bounded, boundedTo, type LedgerHour, mostKeys, type PoolCost } from './slice.ts'

/** ConfigMaps with hours: today's, and those of the 30 days before. */
export const ledgerMaps = Array.from({ length: 31 }, (_, place) => `joiner-cost-${place}`)

const dayMs = 24 * hourMs
const version = 1
const longestKey = 200
/** Of a ConfigMap's mebibyte, for 24 hours. */
const longestHour = 40_000
/** The entry that says which day the others are of. */
const dayEntry = 'day'

/** Returns the ConfigMap that keeps the day (UTC) of a time. */
export function ledgerMapOf(ms: number): string {
  return ledgerMaps[Math.floor(ms / dayMs) % ledgerMaps.length] as string
}

export type LedgerEntries = Readonly<Record<string, string>>

/** Hours by their beginning, in epoch ms. */
export type LedgerHours = ReadonlyMap<number, LedgerHour>

/** Returns the hours of a ConfigMap, without those that cannot be read. */
export function parseLedgerMap(entries: LedgerEntries): LedgerHours {
  const day = Date.parse(`${entries[dayEntry] ?? ''}T00:00:00Z`)
  const hours = new Map<number, LedgerHour>()
  if (Number.isNaN(day)) return hours
  for (const [name, text] of Object.entries(entries)) {
    if (!/^([01][0-9]|2[0-3])$/.test(name)) continue
    const hour = parseHour(text)
    if (hour !== undefined) hours.set(day + Number(name) * hourMs, hour)
  }
  return hours
}

/** Returns the entries that write hours of one day into its ConfigMap; null removes what is there of another day. */
export function ledgerEntries(hours: LedgerHours, before: LedgerEntries): Readonly<Record<string, string | null>> {
  const entries: Record<string, string | null> = {}
  for (const [atMs, hour] of hours) {
    const date = new Date(atMs).toISOString()
    const day = date.slice(0, 10)
    if (before[dayEntry] !== day) for (const name of Object.keys(before)) entries[name] ??= null
    entries[dayEntry] = day
    entries[date.slice(11, 13)] = formatHour(hour)
  }
  return entries
}

type Row = readonly [key: string, usd: number]

interface StoredHour {
  readonly v: number
  readonly covered: readonly (readonly [number, number])[]
  readonly pools: readonly (readonly [string, number, number, number, number])[]
  readonly namespaces: readonly Row[]
  readonly otherNamespaces: number
  readonly workloads: readonly Row[]
  readonly otherWorkloads: number
}

/** With names so long that they do not fit, fewer of them are kept. */
function formatHour(hour: LedgerHour): string {
  for (let most = mostKeys; ; most = Math.floor(most / 2)) {
    const [namespaces, workloads] = [boundedTo(hour.namespaces, most), boundedTo(hour.workloads, most)]
    const text = hourText({ ...hour, namespaces, workloads })
    if (text.length <= longestHour || most === 0) return text
  }
}

function hourText({ covered, pools, namespaces, workloads }: LedgerHour): string {
  return JSON.stringify({
    v: version,
    covered: covered.map(({ fromMs, toMs }) => [fromMs, toMs] as const),
    pools: [...pools].map(
      ([name, cost]) =>
        [
          cutKey(name),
          rounded(cost.usd),
          rounded(cost.idle),
          rounded(cost.nodeHours),
          rounded(cost.unpricedHours),
        ] as const,
    ),
    namespaces: rowsOf(namespaces),
    otherNamespaces: rounded(namespaces.other),
    workloads: rowsOf(workloads),
    otherWorkloads: rounded(workloads.other),
  } satisfies StoredHour)
}

/** Keys that are the same once they are cut are one. */
function rowsOf({ byKey }: Bounded): readonly Row[] {
  const sums = new Map<string, number>()
  for (const [key, usd] of byKey) sums.set(cutKey(key), (sums.get(cutKey(key)) ?? 0) + usd)
  return [...sums].map(([key, usd]) => [key, rounded(usd)] as const)
}

/** Owners' names come from tenants, and nothing limits their length or characters. */
function cutKey(key: string): string {
  return key.slice(0, longestKey).replaceAll(/[^ -~]/g, '?')
}

/** Twelve digits: what hundreds of additions round off stays far below a cent. */
function rounded(value: number): number {
  return Number(value.toPrecision(12))
}

function parseHour(text: string): LedgerHour | undefined {
  let stored: Partial<StoredHour>
  try {
    stored = JSON.parse(text) as Partial<StoredHour>
  } catch {
    return undefined
  }
  const { v, covered, pools, namespaces, workloads, otherNamespaces, otherWorkloads } = stored
  const isHour = v === version && isList(covered, isRange) && isList(pools, isPool)
  if (!isHour || !isList(namespaces, isRow) || !isList(workloads, isRow)) return undefined
  return {
    covered: covered.map(([fromMs, toMs]): TimeRange => ({ fromMs, toMs })),
    pools: new Map(
      pools.map(([name, usd, idle, nodeHours, unpricedHours]): [string, PoolCost] => [
        name,
        { usd, idle, nodeHours, unpricedHours },
      ]),
    ),
    namespaces: { byKey: new Map(namespaces), other: Number(otherNamespaces) },
    workloads: { byKey: new Map(workloads), other: Number(otherWorkloads) },
  }
}

function isList<T>(value: readonly T[] | undefined, isEntry: (entry: unknown) => entry is T): value is readonly T[] {
  return Array.isArray(value) && value.every(isEntry)
}

const areNumbers = (values: readonly unknown[], count: number) =>
  values.length === count && values.every((value) => Number.isFinite(value))

function isRange(entry: unknown): entry is readonly [number, number] {
  return Array.isArray(entry) && areNumbers(entry, 2)
}

function isPool(entry: unknown): entry is StoredHour['pools'][number] {
  return Array.isArray(entry) && typeof entry[0] === 'string' && areNumbers(entry.slice(1), 4)
}

function isRow(entry: unknown): entry is Row {
  return Array.isArray(entry) && typeof entry[0] === 'string' && areNumbers(entry.slice(1), 1)
}
