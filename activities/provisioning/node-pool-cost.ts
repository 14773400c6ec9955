import { Gauge, type Registry } from 'prom-client'
import { priceNow } from '../../core/disruption/costs.ts'
import type { InstanceType } from '../../core/instance-type.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'

/** The cluster and prices that the gauge reads. */
interface PricedCluster {
  readonly nodeClaims: () => Iterable<NodeClaim>
  /** By NodePool; the same arrays until something changes. */
  readonly instanceTypes: () => ReadonlyMap<string, readonly InstanceType[]>
  /** Whether this process publishes. */
  readonly isReported: () => boolean
}

/**
 * Publishes what the nodes of each pool cost, in USD an hour at current prices, computed on each scrape. A pool without nodes has no series,
 * and a size of unknown price counts as zero.
 */
export function observeNodePoolCost(
  { nodeClaims, instanceTypes, isReported }: PricedCluster,
  registry: Registry,
): Gauge {
  return new Gauge({
    name: 'karpenter_nodepools_cost_total',
    help: 'Cost of the nodes of a NodePool in USD an hour.',
    labelNames: ['nodepool'],
    registers: [registry],
    collect() {
      this.reset()
      if (!isReported()) return
      const types = instanceTypes()
      for (const { metadata } of nodeClaims()) {
        const nodepool = metadata.labels[labels.nodePool]
        if (nodepool !== undefined) this.inc({ nodepool }, priceNow(metadata.labels, types))
      }
    },
  })
}
