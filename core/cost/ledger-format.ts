import { hourMs } from './bill.ts'
import { type Bounded, boundedTo, type LedgerHour, mostKeys } from './slice.ts'

/** ConfigMaps with hours: today's, and those of the 30 days before. */
export const ledgerMaps = Array.from({ length: 31 }, (_, place) => `joiner-cost-${place}`)

const dayMs = 24 * hourMs
export const ledgerVersion = 1
const longestKey = 200
/** Of a ConfigMap's mebibyte, for 24 hours. */
const longestHour = 40_000
/** The entry that says which day the others are of. */
export const dayEntry = 'day'

/** Returns the ConfigMap that keeps the day (UTC) of a time. */
export function ledgerMapOf(ms: number): string {
  return ledgerMaps[Math.floor(ms / dayMs) % ledgerMaps.length] as string
}

export type LedgerEntries = Readonly<Record<string, string>>

/** Hours by their beginning, in epoch ms. */
export type LedgerHours = ReadonlyMap<number, LedgerHour>

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

/** An hour as it stands in its entry. */
export interface StoredHour {
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
    v: ledgerVersion,
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
