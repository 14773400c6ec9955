import { request } from 'undici'
import type { World } from '../../test/world.ts'

/** Cumulative counts by upper bound, in seconds. */
export type Histogram = ReadonlyMap<number, number>

const metric = 'karpenter_pods_scheduling_decision_duration_seconds'

/** How long pods waited for their decision (a NodeClaim or a node), of all planners together since they started. */
export async function decisions(world: World, planners: readonly string[]): Promise<Histogram> {
  const sum = new Map<number, number>()
  for (const planner of planners) {
    const url = await addressOf(world, planner)
    const text = url === undefined ? '' : await (await request(`${url}/metrics`)).body.text()
    for (const [, bound = '', count = ''] of text.matchAll(
      new RegExp(`^${metric}_bucket{le="([^"]*)"} (\\d+)$`, 'gm'),
    )) {
      const seconds = bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound)
      sum.set(seconds, (sum.get(seconds) ?? 0) + Number(count))
    }
  }
  return sum
}

/** Upper bound of the bucket in which the percentile lies, of what came between two readings; undefined where nothing did. */
export function percentileBetween(before: Histogram, after: Histogram, share: number): number | undefined {
  const bounds = [...after.keys()].toSorted((a, b) => a - b)
  const counts = bounds.map((bound) => (after.get(bound) ?? 0) - (before.get(bound) ?? 0))
  const all = counts.at(-1) ?? 0
  const at = counts.findIndex((count) => count >= share * all)
  return all === 0 ? undefined : bounds[at]
}

async function addressOf(world: World, process: string): Promise<string | undefined> {
  const log = await world.cluster.supervisor.tail(process, 100_000)
  const line = log.split('\n').find((candidate) => candidate.includes('serving health and metrics'))
  const address = line === undefined ? undefined : (JSON.parse(line) as { readonly address: string }).address
  return address?.replace('0.0.0.0', '127.0.0.1')
}
