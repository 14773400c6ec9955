import { poolsOf, totalsOf } from '../../starter/picture/pools.ts'
import type { ClusterView, NodeView } from '../../starter/ui/contract.ts'

const gi = 1024 ** 3
const sizes = [
  { instanceType: 'Standard_D4s_v5', cpu: 4, memory: 16 * gi, price: 0.192 },
  { instanceType: 'Standard_E8s_v5', cpu: 8, memory: 64 * gi, price: 0.504 },
  { instanceType: 'Standard_D16as_v5', cpu: 16, memory: 64 * gi, price: 0.688 },
] as const
const phases: readonly NodeView['phase'][] = ['Launching', 'Registering', 'Initializing', 'Draining', 'Terminating']

/** A node of a generated cluster: the same for the same number. One in 25 is not simply ready. */
export function generatedNode(index: number, podsPerNode: number): NodeView {
  const size = sizes[index % sizes.length] ?? sizes[0]
  const pods = Array.from({ length: podsPerNode }, (_, pod): NodeView['pods'][number] => {
    const share = 0.5 + ((index * 7 + pod * 13) % 10) / 10
    const cpu = (size.cpu / podsPerNode) * share * 0.8
    const memory = (size.memory / podsPerNode) * share * 0.6
    if (pod === 0) return ['kube-system/agent', 0.1, 128 * 1024 ** 2, 'd']
    if (pod === 3 && index % 11 === 0) return [`shop/batch-${index}-${pod}`, cpu, memory, 'h']
    return [`shop/web-${index}-${pod}`, cpu, memory]
  })
  const phase = index % 25 === 7 ? (phases[Math.floor(index / 25) % phases.length] ?? 'Ready') : 'Ready'
  const key = `pool-${index % 4}-${index.toString(36).padStart(5, '0')}`
  return {
    key,
    node: key,
    nodeClaim: key,
    nodePool: `pool-${index % 4}`,
    phase,
    instanceType: size.instanceType,
    zone: `westeurope-${(index % 3) + 1}`,
    capacityType: index % 3 === 0 ? 'spot' : 'on-demand',
    pricePerHour: size.price,
    createdMs: Date.UTC(2026, 0, 1) + index * 60_000,
    isReady: phase !== 'Launching' && phase !== 'Registering',
    isCordoned: phase === 'Draining',
    ...(phase === 'Draining' ? { note: 'underutilized' } : {}),
    allocatable: { cpu: size.cpu, memory: size.memory, pods: 110 },
    requested: total(pods),
    pods,
  }
}

const total = (pods: NodeView['pods']) =>
  pods.reduce((sum, [, cpu, memory]) => ({ cpu: sum.cpu + cpu, memory: sum.memory + memory }), { cpu: 0, memory: 0 })

/** A view of these nodes, with sums as the server forms them. */
export function viewOf(nodes: readonly NodeView[], more: Partial<ClusterView> = {}): ClusterView {
  const pending = more.pending ?? []
  const waiting = pending.reduce((sum, { count }) => sum + count, 0)
  return {
    atMs: Date.now(),
    totals: totalsOf(nodes, waiting),
    pools: poolsOf(nodes),
    nodes,
    pending,
    missing: [],
    damaged: [],
    unlisted: [],
    ...more,
  }
}
