import type { Node, NodeClaim, Pod } from '../../core/objects.ts'
import { podsToPlace as podsToPlaceOf } from '../../core/scheduling/cluster.ts'
import type { Parts } from '../kubernetes/parts.ts'

export type PlanningSnapshotDeps = Pick<Parts, 'cache' | 'now'>

/**
 * Returns pods that need a place: those the scheduler gave up on, and those on nodes that are leaving. The cache's indexes find them, so
 * this costs what there is to place, not what there is.
 */
export function podsToPlace({ cache, now }: PlanningSnapshotDeps): readonly Pod[] {
  const nodes = new Set<Node>(cache.nodes.by('byLeaving', 'yes'))
  const nodeClaims = new Set<NodeClaim>(cache.nodeClaims.by('byLeaving', 'yes'))
  for (const { status } of nodeClaims)
    for (const node of cache.nodes.by('byProviderId', status.providerId?.toLowerCase() ?? '')) nodes.add(node)
  for (const { providerId } of nodes)
    for (const claim of cache.nodeClaims.by('byProviderId', providerId?.toLowerCase() ?? '')) nodeClaims.add(claim)
  const bound = [...nodes].flatMap(({ metadata }): readonly Pod[] => cache.pods.by('byNode', metadata.name))
  const cluster = {
    pods: [...cache.pods.by('byProvisionable', 'yes'), ...bound],
    nodes: [...nodes],
    nodeClaims: [...nodeClaims],
    podDisruptionBudgets: [...cache.podDisruptionBudgets.values()],
  }
  return podsToPlaceOf(cluster, now())
}
