// What of an object decides whether a change of it is worth a poke.
import type { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import type { NodeClaim, ObjectMeta } from '../../core/objects.ts'
import { terminationFinalizer } from '../../core/requirements/labels.ts'

/** A claim that somebody has just made: nothing has happened to it, nor to anything in its name. */
export function isUntouched({ metadata, status }: NodeClaim): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    !metadata.finalizers.includes(terminationFinalizer) &&
    status.providerId === undefined &&
    status.conditions.length === 0
  )
}

interface Versioned {
  readonly metadata: ObjectMeta
}

export function isDeleting({ metadata }: Versioned): boolean {
  return metadata.deletionTimestamp !== undefined
}

/** Whether nothing but the status of an object, or its labels and annotations, has changed. */
export function isSameSpec({ metadata: before }: Versioned, { metadata: after }: Versioned): boolean {
  return before.generation === after.generation && before.deletionTimestamp === after.deletionTimestamp
}

/** Whether the claim was the last of a node class that is being deleted, which waits for its claims (reference/azure-provider.md 1.5). */
export function wasLastOfItsClass(
  { nodeClasses, nodeClaims }: Pick<ClusterCache, 'nodeClasses' | 'nodeClaims'>,
  { spec: { nodeClassRef } }: NodeClaim,
): boolean {
  const nodeClass = nodeClasses.get(nodeClassRef.name)
  if (nodeClass === undefined || !isDeleting(nodeClass)) return false
  return ![...nodeClaims.values()].some(({ spec }) => spec.nodeClassRef.name === nodeClassRef.name)
}
