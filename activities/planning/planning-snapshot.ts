import { isTrue } from '../../core/conditions.ts'
import { kubeletConversion } from '../../core/kubelet-conversion.ts'
import { labels } from '../../core/labels.ts'
import type { NodePool, Pod } from '../../core/objects.ts'
import { isProvisionable, isReschedulable, isTerminating } from '../../core/pod-rules.ts'
import { integerQuantity } from '../../core/quantity.ts'
import { mergeResources, type Resources } from '../../core/resources.ts'
import type { NodePoolOption, SchedulingSnapshot } from '../../core/scheduling/snapshot.ts'
import { isLeaving, schedulableNodes } from '../../core/scheduling/state-nodes.ts'
import type { PlanningDeps } from './dependencies.ts'

/** Pods that need a place: those the scheduler gave up on, and those on nodes that are leaving. */
export function podsToPlace({ cache }: PlanningDeps): readonly Pod[] {
  const pending = [...cache.pods.values()].filter(isProvisionable)
  const leaving = [...cache.nodes.values()].filter((node) =>
    isLeaving(cache.nodeClaims.by('byProviderId', node.providerId?.toLowerCase() ?? '')[0], node),
  )
  const moving = leaving.flatMap((node) =>
    cache.pods.by('byNode', node.metadata.name).filter((pod) => isReschedulable(pod) && !isTerminating(pod)),
  )
  return [...pending, ...moving]
}

/** Everything that a placement depends on, from the cache at this moment. */
export function planningSnapshot(deps: PlanningDeps, pods: readonly Pod[]): SchedulingSnapshot {
  const { cache } = deps
  const placing = new Set(pods)
  const podsByNode = new Map<string, readonly Pod[]>()
  for (const node of cache.nodes.values()) {
    podsByNode.set(
      node.metadata.name,
      cache.pods.by('byNode', node.metadata.name).filter((pod) => !placing.has(pod)),
    )
  }
  const daemonSets = [...cache.daemonSets.values()]
  return {
    pods,
    nodes: schedulableNodes({
      nodes: [...cache.nodes.values()],
      nodeClaims: [...cache.nodeClaims.values()],
      podsByNode,
      daemonSets,
    }),
    nodePools: nodePoolOptions(deps),
    daemonSets,
  }
}

/** The pools that may be extended, each with what it can buy now. */
function nodePoolOptions({ cache, catalogue }: PlanningDeps): readonly NodePoolOption[] {
  const usage = usageByPool(cache)
  return [...cache.nodePools.values()].flatMap((nodePool) => {
    const nodeClass = cache.nodeClasses.get(nodePool.template.spec.nodeClassRef.name)
    if (nodeClass === undefined || !mayGrow(nodePool)) return []
    return [
      {
        nodePool,
        instanceTypes: catalogue.instanceTypesFor(nodeClass, kubeletConversion(nodePool.metadata.annotations)),
        usage: usage.get(nodePool.metadata.name) ?? {},
      },
    ]
  })
}

function mayGrow(nodePool: NodePool): boolean {
  return nodePool.metadata.deletionTimestamp === undefined && !nodePool.isStatic && isTrue(nodePool.conditions, 'Ready')
}

/** Capacity of each pool's nodes, those on their way included, with their number as `nodes`. */
function usageByPool(cache: PlanningDeps['cache']): ReadonlyMap<string, Resources> {
  const usage = new Map<string, Resources>()
  for (const claim of cache.nodeClaims.values()) {
    const pool = claim.metadata.labels[labels.nodePool]
    if (pool === undefined || claim.metadata.deletionTimestamp !== undefined) continue
    const node = cache.nodes.by('byProviderId', claim.status.providerId?.toLowerCase() ?? '')[0]
    const capacity =
      Object.keys(node?.capacity ?? {}).length > 0
        ? (node?.capacity ?? {})
        : claimCapacity(claim.status.capacity, claim.spec.requests)
    usage.set(pool, mergeResources(usage.get(pool) ?? {}, { ...capacity, nodes: integerQuantity(1) }))
  }
  return usage
}

/** Before its launch a claim counts as what was asked for: its size is not chosen yet. */
function claimCapacity(capacity: Resources, requests: Resources): Resources {
  return Object.keys(capacity).length > 0 ? capacity : requests
}
