import { Gauge, type Registry, register } from 'prom-client'
import { priceNow } from '../../core/disruption/costs.ts'
import type { InstanceType } from '../../core/instance-type.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'

/** Where the gauge looks. */
interface PricedCluster {
  readonly nodeClaims: () => Iterable<NodeClaim>
  /** By NodePool; the same arrays until something changes. */
  readonly instanceTypes: () => ReadonlyMap<string, readonly InstanceType[]>
  /** Whether it is this process that says. */
  readonly isReported: () => boolean
}

/**
 * What the nodes of each pool cost, in USD an hour, by the prices of now; looked up when somebody asks. A pool without nodes is not named,
 * and a size whose price is not known counts as nothing.
 */
export function observeNodePoolCost(
  { nodeClaims, instanceTypes, isReported }: PricedCluster,
  registry: Registry = register,
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
