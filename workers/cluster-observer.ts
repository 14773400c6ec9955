import type { Registry } from 'prom-client'
import type { Catalogue } from '../activities/azure/catalogue/catalogue.ts'
import { observeBudgets, observeCommandsInFlight } from '../activities/disruption/budget-metrics.ts'
import type { ClusterCache } from '../activities/kubernetes/cache/cluster-cache.ts'
import { instanceTypes } from '../activities/node-overlays/pool-types.ts'
import { observeNodePoolCost } from '../activities/provisioning/node-pool-cost.ts'
import { conditionGauges, conditionTransitions } from '../activities/telemetry/condition-metrics.ts'
import type { GaugeFamily } from '../activities/telemetry/gauge-family.ts'
import { nodeGauges } from '../activities/telemetry/node-gauges.ts'
import { podStates } from '../activities/telemetry/pod-gauges.ts'
import { waitsFromCreation } from '../activities/telemetry/pod-waits.ts'
import type { Config } from '../api/config.ts'
import type { NodeClass } from '../api/objects.ts'
import type { CapacityBuffer } from '../core/capacity-buffer/capacity-buffer.ts'
import type { Node, NodeClaim, NodePool, Pod } from '../core/objects.ts'

export interface ClusterObserverDeps {
  readonly cache: ClusterCache
  /** Epoch milliseconds. */
  readonly now: () => number
  readonly catalogue: Catalogue
  /** Where the metrics enter that are computed on each scrape. */
  readonly registry: Registry
}

/** What reports the cluster, until it is stopped. */
export interface ClusterObserver {
  readonly families: () => readonly GaugeFamily[]
  stop(): void
}

const nothing: ClusterObserver = { families: () => [], stop() {} }

/**
 * Reports nodes, pods, NodePools and conditions from the watch cache. All processes could; only the one that bridges does (`isReported`), so that
 * replicas do not report the same twice. The others watch, so that the next one knows which pods it has seen waiting.
 */
export function observeCluster(
  deps: ClusterObserverDeps,
  config: Config,
  { isReported }: { readonly isReported: () => boolean },
): ClusterObserver {
  if (!config.JOINER_ROLES.includes('bridge')) return nothing
  const { cache, catalogue, now, registry } = deps
  observeBudgets(cache, { now, isReported }, registry)
  observeCommandsInFlight(cache.nodeClaims, isReported, registry)
  observeNodePoolCost(
    {
      nodeClaims: () => cache.nodeClaims.values(),
      instanceTypes: () => instanceTypes({ cache, catalogue }),
      isReported,
    },
    registry,
  )
  return config.DISABLE_CLUSTER_STATE_OBSERVABILITY ? nothing : observeState(deps, isReported)
}

type Conditioned = NodeClaim | NodePool | NodeClass | Node | CapacityBuffer

function observeState({ cache, now, registry }: ClusterObserverDeps, isReported: () => boolean): ClusterObserver {
  const waits = waitsFromCreation({ now, isReported }, registry)
  const transitionsOf = conditionTransitions(now, registry)
  const stop = cache.onChange(({ kind, before, after }) => {
    if (kind === 'Pod') for (const wait of waits) wait.changed(before as Pod | undefined, after as Pod | undefined)
    // What the first lists bring has not changed.
    else if (isReported() && cache.unsynced.length === 0)
      transitionsOf(kind)?.(before as Conditioned | undefined, after as Conditioned | undefined)
  })
  const stores = {
    NodeClaim: cache.nodeClaims,
    NodePool: cache.nodePools,
    Node: cache.nodes,
    AKSNodeClass: cache.nodeClasses,
    CapacityBuffer: cache.capacityBuffers,
  }
  return {
    families: () =>
      isReported()
        ? [
            ...nodeGauges(cache, now),
            podStates(cache),
            ...waits.map((wait) => wait.family()),
            ...conditionGauges((kind) => stores[kind].values(), now),
          ]
        : [],
    stop,
  }
}
