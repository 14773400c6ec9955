// What of an object decides whether a change of it is worth a poke.
import type { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import { claimNode } from '../../activities/kubernetes/lifecycle/claim-nodes.ts'
import { isTrue } from '../../core/conditions.ts'
import { type NodeRules, needsLook } from '../../core/node-claim/node-health.ts'
import { hasLostNode } from '../../core/node-claim/node-owner.ts'
import { isDeleting, type NodeClaim } from '../../core/objects.ts'
import { annotations, terminationFinalizer } from '../../core/requirements/labels.ts'

/** A claim that somebody has just made: nothing has happened to it, nor to anything in its name. */
export function isUntouched({ metadata, status }: NodeClaim): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    !metadata.finalizers.includes(terminationFinalizer) &&
    status.providerId === undefined &&
    status.conditions.length === 0
  )
}

/**
 * Whether the lifecycle of a claim rests and has nothing to hear of: its node is initialized and stays, and no late write of an early try calls it not
 * launched. `now`: epoch ms.
 */
export function isSettled(
  at: { readonly cache: ClusterCache; readonly nodeRules: NodeRules; readonly now: () => number },
  claim: NodeClaim,
): boolean {
  const { metadata, status } = claim
  if (
    isUnderWay(claim) ||
    !isTrue(status.conditions, 'Launched') ||
    isTrue(status.conditions, 'Rebooting') ||
    metadata.annotations[annotations.holdUntil] !== undefined
  )
    return false
  const node = claimNode(at, claim)
  return (
    node !== undefined &&
    !hasLostNode(claim, node) &&
    !isDeleting(node) &&
    !needsLook({ before: undefined, after: node }, at.nodeRules, at.now())
  )
}

/** Whether a reboot of the claim's VM has been requested between two versions of it. */
export function beginsReboot(before: NodeClaim, after: NodeClaim): boolean {
  return isTrue(after.status.conditions, 'Rebooting') && !isTrue(before.status.conditions, 'Rebooting')
}

/** Whether a claim's node is on its way, or on its way out: the lifecycle waits for just that, and needs no poke. */
export function isUnderWay(claim: NodeClaim): boolean {
  return isDeleting(claim) || !isTrue(claim.status.conditions, 'Initialized')
}
