import { type ConditionChange, isTrue } from '../conditions.ts'
import type { Pod } from '../objects.ts'
import { podName } from '../pods/pod-rules.ts'
import type { SchedulingPlan } from '../scheduling/snapshot.ts'
import type { CapacityBuffer } from './capacity-buffer.ts'

/** Where a pass put the virtual pods of all buffers. */
export interface BufferPlaces {
  /** Names of virtual pods, as `namespace/name`. */
  readonly onNodes: ReadonlySet<string>
  readonly onNewClaims: ReadonlySet<string>
  /** Virtual pods on each Node. Such a Node is not empty. */
  readonly counts: ReadonlyMap<string, number>
}

/** Returns where a plan puts virtual pods. `isVirtual`: whether a pod is one. */
export function bufferPlaces(plan: SchedulingPlan, isVirtual: (pod: Pod) => boolean): BufferPlaces {
  const names = (pods: readonly Pod[]) => pods.filter(isVirtual).map(podName)
  const counts = plan.existing.map(({ node, pods }) => [node, names(pods).length] as const)
  return {
    onNodes: new Set(plan.existing.flatMap(({ pods }) => names(pods))),
    onNewClaims: new Set(plan.newNodeClaims.flatMap(({ pods }) => names(pods))),
    counts: new Map(counts.filter(([, count]) => count > 0)),
  }
}

/**
 * Returns the condition `Provisioning` of a buffer after a pass (reference/karpenter-core.md 1.4). `names`: those of its virtual pods. `places.why`: why
 * some found no place.
 */
export function provisioningCondition(
  buffer: CapacityBuffer,
  names: readonly string[],
  places: BufferPlaces & { readonly why?: string },
): ConditionChange {
  const type = 'Provisioning'
  if (!isTrue(buffer.status.conditions, 'ReadyForProvisioning'))
    return { type, status: 'False', reason: 'NotReadyForProvisioning', message: 'Buffer is not ReadyForProvisioning' }
  if (names.length === 0)
    return { type, status: 'False', reason: 'BufferEmpty', message: 'Buffer has zero desired replicas' }
  const fresh = names.filter((name) => places.onNewClaims.has(name)).length
  const failed = names.filter((name) => !places.onNewClaims.has(name) && !places.onNodes.has(name)).length
  if (fresh + failed === 0) {
    const message = `All ${names.length} virtual pods fit on existing capacity`
    return { type, status: 'True', reason: 'FitsExistingCapacity', message }
  }
  const why = failed === 0 || places.why === undefined ? '' : `: ${places.why}`
  const message = `${fresh}/${names.length} virtual pods required new capacity, ${failed} failed${why}`
  return { type, status: 'False', reason: 'RequiresNewCapacity', message }
}
