import { readCloud } from '../../../activities/azure/access/azure-config.ts'
import { azureIdentity } from '../../../activities/azure/access/azure-identity.ts'
import { launchedVm } from '../../../activities/azure/capacity/quota.ts'
import {
  freeOf,
  inFlight,
  poolsOf,
  spotPool,
  type Usages,
  type VmUse,
} from '../../../activities/azure/capacity/quota-accounting.ts'
import type { VmSize } from '../../../activities/azure/catalogue/sku.ts'
import type { Table } from '../../document/document.ts'
import { few } from '../../document/words.ts'
import { ArmReader } from '../../picture/arm-reader.ts'
import { sceneOf, vmSizes, vmUsages } from '../../picture/from-azure.ts'
import { clusterScene, nodeClaims } from '../../picture/from-cluster.ts'
import { readWhole } from '../../picture/picture.ts'
import type { AzureSettings } from '../access/azure-settings.ts'
import { withCluster } from '../access/cluster.ts'
import { type Buyable, readBuyable, readPools } from '../shared/buyable.ts'
import type { ConnectionOptions } from '../shared/options.ts'

/** What a NodePool may buy of a pool of vCPUs, and what of it there is no room for. */
interface BlockedPool {
  readonly nodePool: string
  readonly sizes: number
  readonly blocked: number
  /** The smallest size that there is no room for. */
  readonly from: string
}

export interface QuotaRow {
  /** A family, or `cores` or `lowPriorityCores`: the total of the region on demand and of spot. */
  readonly family: string
  /** `unknown` where Azure lists no quota for the family, such as one that counts in a category. */
  readonly limit: number | 'unknown'
  readonly used: number | 'unknown'
  readonly inFlight: number
  readonly free: number | 'unknown'
  readonly blocks: readonly BlockedPool[]
}

/** Each pool of vCPUs that sizes of the region have, and what it keeps NodePools from. */
export function quotaRows(input: {
  readonly usages: Usages
  readonly sizes: ReadonlyMap<string, VmSize>
  readonly buyable: readonly Buyable[]
  readonly uses: readonly VmUse[]
  readonly countedAtMs: number
}): readonly QuotaRow[] {
  const { usages, sizes, buyable, uses, countedAtMs } = input
  const flying = inFlight(uses, [], countedAtMs)
  const names = new Map([...sizes.values()].map(({ family }) => [family.toLowerCase(), family]))
  names.set('cores', 'cores').set(spotPool, 'lowPriorityCores')
  const listed = [...usages].flatMap(([pool, { limit, current }]) => {
    const family = names.get(pool)
    if (family === undefined) return []
    // A VM that Azure may have counted already is taken off once more: below 0 it says no more than that nothing is free.
    const free = Math.max(0, freeOf(usages, flying, pool))
    const blocks = buyable.flatMap((each) => blockedOf(each, pool, free) ?? [])
    return [{ family, limit, used: current, inFlight: flying.get(pool) ?? 0, free, blocks }]
  })
  const bought = new Set(
    buyable.flatMap(({ onDemand }) => [...onDemand.values()].map(({ family }) => family.toLowerCase())),
  )
  const unlisted = [...bought].filter((pool) => pool !== '' && !usages.has(pool))
  const unknown = { limit: 'unknown', used: 'unknown', free: 'unknown', blocks: [] } as const
  return [
    ...listed,
    ...unlisted.map((pool) => ({ family: names.get(pool) ?? pool, inFlight: flying.get(pool) ?? 0, ...unknown })),
  ]
}

function blockedOf({ pool: nodePool, onDemand, spot }: Buyable, pool: string, free: number): BlockedPool | undefined {
  const bought = (sizes: ReadonlyMap<string, VmSize>, capacityType: string) =>
    [...sizes.values()].filter(({ family }) => poolsOf({ family, capacityType }).includes(pool))
  const counted = [...bought(onDemand, 'on-demand'), ...bought(spot, 'spot')]
  const blocked = counted.filter(({ vCpus }) => vCpus > free).sort((a, b) => a.vCpus - b.vCpus)
  const [smallest] = blocked
  return smallest && { nodePool, sizes: counted.length, blocked: blocked.length, from: smallest.name }
}

/** What is used or stands in a NodePool's way; with `all`, every family. */
export function quotaTable(rows: readonly QuotaRow[], all: boolean): Table {
  const shown = rows.filter(
    ({ used, inFlight: flying, blocks }) => all || used === 'unknown' || used > 0 || flying !== 0 || blocks.length > 0,
  )
  const order = (row: QuotaRow) => `${row.family.includes('ores') ? 0 : 1}${row.family.toLowerCase()}`
  return {
    header: ['FAMILY', 'LIMIT', 'USED', 'IN FLIGHT', 'FREE', 'BLOCKS'],
    drop: ['IN FLIGHT', 'LIMIT'],
    rows: shown
      .toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
      .map(({ family, limit, used, inFlight: flying, free, blocks }) => [
        family,
        limit,
        used,
        flying > 0 ? `+${flying}` : flying,
        free,
        few(blocks.map(blockText), 3) || undefined,
      ]),
  }
}

function blockText({ nodePool, sizes, blocked, from }: BlockedPool): string {
  return `${nodePool}: ${blocked === sizes ? 'all' : `${blocked} of`} ${sizes} sizes${blocked === sizes ? '' : `, from ${from} on`}`
}

/** Quotas as Azure counts them now, with what NodeClaims took meanwhile. Errors: what Azure or the API server says. */
export async function readQuota(
  { config, env }: AzureSettings,
  options: ConnectionOptions,
): Promise<{ readonly rows: readonly QuotaRow[]; readonly launching: number }> {
  const cloud = await readCloud(config)
  const { credential, scope } = azureIdentity(config, cloud, env)
  return withCluster(options, async (kubernetes) => {
    const pools = readPools(kubernetes)
    // Azure may refuse first; then nobody waits for them.
    pools.catch(() => undefined)
    const arm = new ArmReader(cloud.armEndpoint, credential, scope)
    const countedAtMs = Date.now()
    const region = sceneOf({ config, arm })
    const { usages, sizes } = await readWhole(region, { usages: vmUsages, sizes: vmSizes })
    const buyable = await readBuyable({ config, cloud, pools: () => pools }, sizes)
    const { nodeClaims: claims } = await readWhole(clusterScene(kubernetes), { nodeClaims })
    const uses = claims.flatMap((claim): readonly VmUse[] => {
      const vm = launchedVm(claim)
      const size = vm && sizes.get(vm.instanceType)
      return vm === undefined || size === undefined ? [] : [{ ...vm, family: size.family, vCpus: size.vCpus }]
    })
    const launching = claims.filter(
      (claim) => claim.metadata.deletionTimestamp === undefined && launchedVm(claim) === undefined,
    ).length
    return { rows: quotaRows({ usages, sizes, buyable, uses, countedAtMs }), launching }
  })
}
