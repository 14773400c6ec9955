import type { NodeView, PoolView, Totals } from './cluster-view.ts'

interface Sum {
  nodes: number
  pricePerHour: number
  unpriced: number
  readonly allocatable: { cpu: number; memory: number }
  readonly requested: { cpu: number; memory: number }
}

const emptySum = (): Sum => ({
  nodes: 0,
  pricePerHour: 0,
  unpriced: 0,
  allocatable: { cpu: 0, memory: 0 },
  requested: { cpu: 0, memory: 0 },
})

/** Returns sums of each NodePool by name, and of Nodes without one where there are any. */
export function poolsOf(nodes: readonly NodeView[], nodePools: Iterable<string>): readonly PoolView[] {
  const sums = new Map<string, Sum>()
  for (const name of nodePools) sums.set(name, emptySum())
  for (const { nodePool = '', pricePerHour, allocatable, requested } of nodes) {
    const sum = sums.get(nodePool) ?? emptySum()
    sums.set(nodePool, sum)
    sum.nodes += 1
    if (pricePerHour === undefined) sum.unpriced += 1
    add(sum, { pricePerHour: pricePerHour ?? 0, allocatable, requested })
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, sum]) => ({ name, ...sum }))
}

/** Returns the sums of the whole cluster. */
export function totalsOf(pools: readonly PoolView[], nodes: readonly NodeView[], pending: number): Totals {
  const sum = emptySum()
  for (const pool of pools) {
    sum.nodes += pool.nodes
    sum.unpriced += pool.unpriced
    add(sum, pool)
  }
  return { ...sum, pods: nodes.reduce((count, { pods }) => count + pods.length, 0), pending }
}

function add(sum: Sum, of: Pick<PoolView, 'pricePerHour' | 'allocatable' | 'requested'>): void {
  sum.pricePerHour += of.pricePerHour
  sum.allocatable.cpu += of.allocatable.cpu
  sum.allocatable.memory += of.allocatable.memory
  sum.requested.cpu += of.requested.cpu
  sum.requested.memory += of.requested.memory
}
