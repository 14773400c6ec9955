import type { Pod } from '../../core/objects.ts'
import { podsToPlace as podsToPlaceOf } from '../../core/scheduling/cluster.ts'
import type { CachedKind } from '../kubernetes/cache/cached-kinds.ts'
import type { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import { keyOf } from '../kubernetes/cache/object-key.ts'

export interface PlanningSnapshotDeps {
  readonly cache: ClusterCache
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** Returns pods that need a place: those the scheduler gave up on, and those on nodes that are leaving. */
export function podsToPlace(deps: PlanningSnapshotDeps): readonly Pod[] {
  return podsToPlaceOf(objectsOf(deps), deps.now())
}

/**
 * Returns the kinds whose lag could mis-plan: pods, nodes and claims always; volumes only when a pod waits whose volume is not known to be
 * bound, since a volume that was bound just now ties its pod to a zone.
 */
export function laggingKinds(deps: PlanningSnapshotDeps): readonly CachedKind[] {
  const { persistentVolumeClaims, persistentVolumes } = deps.cache
  const isBound = (pod: Pod, name: string) => {
    const claim = persistentVolumeClaims.get(keyOf({ ...pod.metadata, name }))
    return claim?.volumeName !== undefined && persistentVolumes.get(claim.volumeName) !== undefined
  }
  const isUnbound = (pod: Pod) => pod.persistentVolumeClaims.some((name) => !isBound(pod, name))
  const volumes = podsToPlace(deps).some(isUnbound) ? (['PersistentVolumeClaim', 'PersistentVolume'] as const) : []
  return ['Pod', 'Node', 'NodeClaim', ...volumes]
}

function objectsOf({ cache }: PlanningSnapshotDeps) {
  return {
    pods: [...cache.pods.values()],
    nodes: [...cache.nodes.values()],
    nodeClaims: [...cache.nodeClaims.values()],
    podDisruptionBudgets: [...cache.podDisruptionBudgets.values()],
  }
}
