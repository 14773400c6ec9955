import type { CostReport } from '../../contract.ts'

/** Amounts of an hour, one on top of the other. */
export interface CostSeries {
  /** Epoch seconds: the begin of each hour, and the end of the last. */
  readonly times: readonly number[]
  /** The largest sum first, which lies at the bottom. */
  readonly pools: readonly PoolSeries[]
  /** Hours of which nothing is known. */
  readonly unknown: number
}

interface PoolSeries {
  readonly name: string
  /** USD of the hour; null: not known. */
  readonly own: readonly (number | null)[]
  /** With all that lie below it. */
  readonly stacked: readonly (number | null)[]
}

const hourMs = 3_600_000
/** What the eye tells apart; the rest is one. */
const mostPools = 7
const restName = 'all others'

/** What a plot draws. Hours between the first and the last that are absent are not known. */
export function costSeries(hours: CostReport['hours']): CostSeries {
  const known = new Map(hours.map(({ atMs, byNodePool }) => [atMs, byNodePool]))
  const times: number[] = []
  const first = hours[0]?.atMs ?? 0
  const last = hours.at(-1)?.atMs ?? -1
  for (let at = first; at <= last; at += hourMs) times.push(at)
  const sums = new Map<string, number>()
  for (const { byNodePool } of hours)
    for (const [name, usd] of Object.entries(byNodePool ?? {})) sums.set(name, (sums.get(name) ?? 0) + (usd ?? 0))
  const names = [...sums].toSorted(([, a], [, b]) => b - a).map(([name]) => name)
  const single = names.length > mostPools ? names.slice(0, mostPools - 1) : names
  const others = names.slice(single.length)
  const groups = [
    ...single.map((name) => [name, [name]] as const),
    ...(others.length > 0 ? [[restName, others] as const] : []),
  ]
  const pools: PoolSeries[] = []
  for (const [name, members] of groups) {
    const below = pools.at(-1)?.stacked
    const own = times.map((at) => amountOf(known.get(at), members))
    pools.push({ name, own, stacked: own.map((usd, index) => (usd === null ? null : usd + (below?.[index] ?? 0))) })
  }
  const unknown = times.filter((at) => amountOf(known.get(at), names) === null).length
  if (times.length === 0) return { times: [], pools, unknown }
  // An hour is drawn from its begin to the next one's, which the last hour lacks.
  const end = { time: (times.at(-1) ?? 0) + hourMs, of: <T>(values: readonly T[]) => [...values, ...values.slice(-1)] }
  return {
    times: [...times, end.time].map((at) => at / 1000),
    pools: pools.map(({ name, own, stacked }) => ({ name, own: end.of(own), stacked: end.of(stacked) })),
    unknown,
  }
}

/** Null: the hour is absent, or says nothing of any NodePool. */
function amountOf(
  hour: Readonly<Record<string, number | null>> | null | undefined,
  names: readonly string[],
): number | null {
  if (hour === undefined || hour === null) return null
  if (Object.values(hour).some((usd) => usd === null)) return null
  // A NodePool may have the name of something that every object inherits.
  return names.reduce((sum, name) => sum + (Object.hasOwn(hour, name) ? (hour[name] ?? 0) : 0), 0)
}
