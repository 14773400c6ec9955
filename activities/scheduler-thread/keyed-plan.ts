import type { Pod } from '../../core/objects.ts'
import { neverRuns } from '../../core/pods/pod-rules.ts'
import type { PlannedNodeClaim, SchedulingPlan } from '../../core/scheduling/snapshot.ts'
import type { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import type { KeyedPlan } from './messages.ts'

/** A plan, and the measurements of its pass. */
export interface ThreadPlan extends SchedulingPlan, Pick<KeyedPlan, 'ignored' | 'zones' | 'snapshotMs' | 'solveMs'> {}

/** Puts in the pods; leaves out those that are gone since, or that will never run now. */
export function planWithPods(plan: KeyedPlan, cache: ClusterCache): ThreadPlan {
  const pods = (keys: readonly string[]) =>
    keys.flatMap((key) => {
      const pod = cache.pods.get(key) ?? cache.virtualPods.get(key)
      return pod === undefined || neverRuns(pod) ? [] : [pod]
    })
  return {
    ...plan,
    newNodeClaims: plan.newNodeClaims
      .map((claim): PlannedNodeClaim => ({ ...claim, pods: pods(claim.pods) }))
      .filter((claim) => claim.pods.length > 0),
    existing: plan.existing.map((place) => ({ ...place, pods: pods(place.pods) })),
    postponed: pods(plan.postponed),
    unschedulable: plan.unschedulable.flatMap(({ pod, cause }) => pods([pod]).map((one: Pod) => ({ pod: one, cause }))),
  }
}
