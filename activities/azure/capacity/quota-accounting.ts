import { z } from 'zod'
import { amount, name } from '../../../api/kept/document.ts'
import type { KeptFormat } from '../catalogue/durable-document.ts'

/** Used and allowed vCPUs of one pool, from the region's compute usages. */
export interface Usage {
  readonly limit: number
  readonly current: number
}

/** Usages by pool, in lower case: a family's name, or one of the two below. */
export type Usages = ReadonlyMap<string, Usage>

/** All on-demand vCPUs of a subscription in the region. */
export const regionalPool = 'cores'
/** All spot vCPUs of a subscription in the region; they count in no family. */
export const spotPool = 'lowprioritycores'

interface UsageItem {
  readonly name?: { readonly value?: string }
  readonly limit: number
  readonly currentValue: number
}

/** Returns the usages by pool, of those that Azure limits: -1 is its word for no limit. */
export function usagesOf(items: Iterable<UsageItem>): Usages {
  const usages = new Map<string, Usage>()
  for (const { name, limit, currentValue } of items) {
    if (name?.value !== undefined && limit >= 0) usages.set(name.value.toLowerCase(), { limit, current: currentValue })
  }
  return usages
}

const vCpus = amount(0, 1e12)

/** The usages of a subscription and region in the ConfigMap: a list of pools with their usage. */
export const keptUsages: KeptFormat<Usages> = {
  name: 'joiner-quota',
  version: '1',
  schema: z.codec(
    z.array(z.tuple([name, z.object({ limit: vCpus, current: vCpus })])).max(10_000),
    z.custom<Usages>(),
    { decode: (pools) => new Map(pools), encode: (usages) => [...usages] },
  ),
}

/** vCPUs that a VM takes from its pools. */
export interface Demand {
  readonly family: string
  readonly vCpus: number
  readonly capacityType: string
}

/** Returns the pools that a VM counts in. A capacity reservation counts as a whole, so its VMs count in none. */
export function poolsOf({ family, capacityType }: Omit<Demand, 'vCpus'>): readonly string[] {
  if (capacityType === 'reserved') return []
  return capacityType === 'spot' ? [spotPool] : [family.toLowerCase(), regionalPool]
}

/** A VM of a NodeClaim: when its creation was accepted, and when it was gone. Epoch ms. */
export interface VmUse extends Demand {
  readonly launchedAtMs: number
  readonly goneAtMs?: number
}

/** Tolerance for the whole seconds of condition times, and for Azure's count, which may lag a moment. */
const countedLaterMs = 5000

/** Returns whether Azure's count of this time can lack a VM. Until the next poll, counting a VM twice does less harm than missing it. */
export function isTakenSince({ launchedAtMs }: Pick<VmUse, 'launchedAtMs'>, countedAtMs: number): boolean {
  return launchedAtMs >= countedAtMs - countedLaterMs
}

/**
 * Returns vCPUs by pool that Azure's count of a time does not include: of VMs launched since and of launches about to be requested, less those
 * of counted VMs that are gone since.
 */
export function inFlight(
  uses: Iterable<VmUse>,
  reserved: Iterable<Demand>,
  countedAtMs: number,
): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  const add = (demand: Demand, vCpus: number) => {
    for (const pool of poolsOf(demand)) sums.set(pool, (sums.get(pool) ?? 0) + vCpus)
  }
  for (const use of uses) {
    const taken = isTakenSince(use, countedAtMs)
    const gone = use.goneAtMs !== undefined && use.goneAtMs >= countedAtMs
    if (taken && use.goneAtMs === undefined) add(use, use.vCpus)
    if (!taken && gone) add(use, -use.vCpus)
  }
  for (const demand of reserved) add(demand, demand.vCpus)
  return sums
}

/** A pool without enough room. */
export interface Shortage extends Usage {
  readonly pool: string
  readonly inFlight: number
  readonly needed: number
}

/** Returns the vCPUs that a pool has left; infinite where Azure names no limit (reference/azure-provider.md 3.9). */
export function freeOf(usages: Usages, flying: ReadonlyMap<string, number>, pool: string): number {
  const usage = usages.get(pool)
  return usage === undefined ? Number.POSITIVE_INFINITY : usage.limit - usage.current - (flying.get(pool) ?? 0)
}

/** Returns the pools that have no room for a VM. */
export function shortagesOf(usages: Usages, flying: ReadonlyMap<string, number>, demand: Demand): readonly Shortage[] {
  return poolsOf(demand).flatMap((pool) => {
    const usage = usages.get(pool)
    if (usage === undefined || demand.vCpus <= freeOf(usages, flying, pool)) return []
    return [{ pool, ...usage, inFlight: flying.get(pool) ?? 0, needed: demand.vCpus }]
  })
}

/**
 * Returns the state of the quota that decides which sizes can be bought: for each pool without room for the largest size, the largest size
 * that fits. Launches that do not change it leave lists of instance types as they are. `steps`: the vCPUs of all sizes, ascending.
 */
export function quotaSignature(usages: Usages, flying: ReadonlyMap<string, number>, steps: readonly number[]): string {
  const largest = steps.at(-1) ?? 0
  const parts: string[] = []
  for (const pool of usages.keys()) {
    const free = freeOf(usages, flying, pool)
    if (free < largest) parts.push(`${pool}:${steps.findLast((vCpus) => vCpus <= free) ?? 0}`)
  }
  return parts.join(',')
}

/** Returns a shortage and its remedy as text, for conditions and events. */
export function shortageText({ pool, limit, current, inFlight: flying, needed }: Shortage): string {
  const name =
    pool === regionalPool
      ? 'the total regional vCPU quota (cores)'
      : pool === spotPool
        ? 'the regional spot vCPU quota (lowPriorityCores)'
        : `the vCPU quota of family ${pool}`
  return `${name} has no room for ${needed} vCPUs: limit ${limit}, used ${current}, in flight ${flying}; ask for more at https://aka.ms/ProdportalCRP, or allow other instance types`
}
