import type { Amounts, NodeView, PoolPicture, Totals } from './watch/cluster-view.ts'

/** Returns each NodePool by name, and Nodes without one where there are any. `nodePools`: also those without nodes. */
export function poolsOf(nodes: readonly NodeView[], nodePools: Iterable<string> = []): readonly PoolPicture[] {
  const members = Map.groupBy(nodes, ({ nodePool = '' }) => nodePool)
  const names = new Set([...nodePools, ...members.keys()])
  return [...names].sort().map((name) => ({ name, ...sumOf(members.get(name) ?? []) }))
}

/** Returns the sums of the whole cluster. `pending`: pods that wait. */
export function totalsOf(nodes: readonly NodeView[], pending: number): Totals {
  return { ...sumOf(nodes), pods: nodes.reduce((count, { pods }) => count + pods.length, 0), pending }
}

function sumOf(nodes: readonly NodeView[]): Omit<PoolPicture, 'name'> {
  const sum = { nodes: nodes.length, pricePerHour: 0, unpriced: 0, allocatable: none(), requested: none() }
  const phases: { -readonly [P in keyof PoolPicture['phases']]: number } = {}
  for (const { phase, pricePerHour, allocatable, requested } of nodes) {
    phases[phase] = (phases[phase] ?? 0) + 1
    sum.pricePerHour += pricePerHour ?? 0
    if (pricePerHour === undefined) sum.unpriced += 1
    add(sum.allocatable, allocatable)
    add(sum.requested, requested)
  }
  return { ...sum, phases }
}

const none = () => ({ cpu: 0, memory: 0 })

function add(sum: ReturnType<typeof none>, { cpu, memory }: Amounts): void {
  sum.cpu += cpu
  sum.memory += memory
}
