import { hourOf, type TimeRange } from './bill.ts'

/** What the nodes of one NodePool cost. */
export interface PoolCost {
  readonly usd: number
  /** USD of what no pod requested. */
  readonly idle: number
  readonly nodeHours: number
  /** Node-hours without a known price. */
  readonly unpricedHours: number
}

/** What nodes and pods cost in a short time within one hour of the clock. Workloads are `namespace/Kind/name`. */
export interface CostSlice extends TimeRange {
  readonly pools: ReadonlyMap<string, PoolCost>
  readonly workloads: ReadonlyMap<string, number>
}

/** Amounts of the greatest keys, and of all others together. */
export interface Bounded {
  readonly byKey: ReadonlyMap<string, number>
  readonly other: number
}

/** What an hour of the clock cost, as far as it was watched. Namespaces, their rest and the idle shares of the pools add up to what the pools cost; workloads, too. */
export interface LedgerHour {
  /** Epoch ms: times that were watched; in order, without overlaps. */
  readonly covered: readonly TimeRange[]
  readonly pools: ReadonlyMap<string, PoolCost>
  readonly namespaces: Bounded
  readonly workloads: Bounded
}

/** Most pools, namespaces or workloads of an hour that are kept by name. */
export const mostKeys = 200
/** The rest of the pools. */
const otherPools = '(other)'
/** Most stretches of an hour that were watched; with more interruptions than that, the later ones are not counted. */
const mostRanges = 100

export const emptyHour: LedgerHour = {
  covered: [],
  pools: new Map(),
  namespaces: { byKey: new Map(), other: 0 },
  workloads: { byKey: new Map(), other: 0 },
}

/** Returns the hour with a slice of it added. One that overlaps with what is counted already changes nothing, so a slice counts once, whoever writes it and how often. */
export function addSlice(hour: LedgerHour, slice: CostSlice): LedgerHour {
  const covered = withRange(hour.covered, slice)
  if (covered === undefined) return hour
  const namespaces = new Map<string, number>()
  for (const [key, usd] of slice.workloads) add(namespaces, namespaceOf(key), usd)
  return {
    covered,
    pools: addPools(hour.pools, slice.pools),
    namespaces: addBounded(hour.namespaces, namespaces),
    workloads: addBounded(hour.workloads, slice.workloads),
  }
}

/** Undefined for a range that is empty, overlaps or is one too many. */
function withRange(covered: readonly TimeRange[], { fromMs, toMs }: TimeRange): readonly TimeRange[] | undefined {
  if (toMs <= fromMs || covered.some((range) => fromMs < range.toMs && range.fromMs < toMs)) return undefined
  const merged: TimeRange[] = []
  for (const range of [...covered, { fromMs, toMs }].toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = merged.at(-1)
    if (last?.toMs === range.fromMs) merged[merged.length - 1] = { fromMs: last.fromMs, toMs: range.toMs }
    else merged.push(range)
  }
  return merged.length > mostRanges ? undefined : merged
}

function addPools(
  before: ReadonlyMap<string, PoolCost>,
  added: ReadonlyMap<string, PoolCost>,
): ReadonlyMap<string, PoolCost> {
  const pools = new Map(before)
  for (const [name, cost] of added) {
    const key = pools.has(name) || pools.size < mostKeys ? name : otherPools
    pools.set(key, sumOfPools([pools.get(key) ?? noCost, cost]))
  }
  return pools
}

const noCost: PoolCost = { usd: 0, idle: 0, nodeHours: 0, unpricedHours: 0 }

/** Returns the sum of what pools cost. */
export function sumOfPools(costs: Iterable<PoolCost>): PoolCost {
  let sum = noCost
  for (const { usd, idle, nodeHours, unpricedHours } of costs)
    sum = {
      usd: sum.usd + usd,
      idle: sum.idle + idle,
      nodeHours: sum.nodeHours + nodeHours,
      unpricedHours: sum.unpricedHours + unpricedHours,
    }
  return sum
}

function addBounded({ byKey, other }: Bounded, added: ReadonlyMap<string, number>): Bounded {
  const sum = new Map(byKey)
  for (const [key, usd] of added) add(sum, key, usd)
  return boundedTo({ byKey: sum, other }, mostKeys)
}

/** Returns the greatest amounts by name, and the others in the rest. */
export function boundedTo({ byKey, other }: Bounded, most: number): Bounded {
  if (byKey.size <= most) return { byKey, other }
  const sorted = [...byKey].toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  const rest = sorted.slice(most).reduce((total, [, usd]) => total + usd, other)
  return { byKey: new Map(sorted.slice(0, most)), other: rest }
}

function add(sums: Map<string, number>, key: string, usd: number): void {
  sums.set(key, (sums.get(key) ?? 0) + usd)
}

export function namespaceOf(workload: string): string {
  return workload.slice(0, workload.indexOf('/'))
}
/** Returns the end of the last stretch that was watched and ended by a time, epoch ms; undefined when there is none. */
export function coveredUntil(hours: Iterable<LedgerHour>, byMs = Number.POSITIVE_INFINITY): number | undefined {
  let until: number | undefined
  for (const { covered } of hours) {
    const end = covered.findLast(({ toMs }) => toMs <= byMs)?.toMs
    if (end !== undefined && end > (until ?? Number.NEGATIVE_INFINITY)) until = end
  }
  return until
}

/** Returns the hours with slices added, by the beginning of each hour. */
export function addSlices(
  hours: ReadonlyMap<number, LedgerHour>,
  slices: readonly CostSlice[],
): ReadonlyMap<number, LedgerHour> {
  const result = new Map(hours)
  for (const slice of slices) {
    const atMs = hourOf(slice.fromMs)
    result.set(atMs, addSlice(result.get(atMs) ?? emptyHour, slice))
  }
  return result
}

/** Amounts that decide how much of a node a pod has: cores, GiB and GPUs. */
interface Weighed {
  readonly cpu: number
  readonly memoryGib: number
  readonly gpus: number
}

/**
 * A core weighs as much as 8 GiB, and a GPU as much as 30 cores: about what they add to the price of a VM. The difference between Azure's D, E and F sizes
 * makes a core cost 8.8 GiB.
 */
const gibPerCore = 8
const coresPerGpu = 30

/** Returns the weight of what a pod requests or a node has. The share of a pod in its node's price is the quotient of the two. */
export function weightOf({ cpu, memoryGib, gpus }: Weighed): number {
  return cpu + memoryGib / gibPerCore + gpus * coresPerGpu
}
