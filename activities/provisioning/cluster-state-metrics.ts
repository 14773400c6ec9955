import { Gauge, type Registry } from 'prom-client'
import { stateNodes } from '../../core/scheduling/state-nodes.ts'
import type { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'

/** Registers the gauges of the cluster state (reference/karpenter-core.md 6.1), which are computed on each scrape. `now`: epoch ms. */
export function observeCluster(cache: ClusterCache, now: () => number, registry: Registry): void {
  const startedAt = now()
  const isSynced = () => cache.unsynced.length === 0
  const observe = (name: string, help: string, value: () => number) =>
    new Gauge({
      name: `karpenter_cluster_state_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(value())
      },
    })
  observe(
    'node_count',
    'Nodes and NodeClaims without a Node that are known.',
    () => stateNodes({ nodes: [...cache.nodes.values()], nodeClaims: [...cache.nodeClaims.values()] }).length,
  )
  observe('synced', 'Whether every watch of this process has its first list.', () => Number(isSynced()))
  observe('unsynced_time_seconds', 'Time for which the watches have not had their first list.', () =>
    isSynced() ? 0 : (now() - startedAt) / 1000,
  )
}
