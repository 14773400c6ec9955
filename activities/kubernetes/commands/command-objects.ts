import { conditionOf, withoutCondition } from '../../../core/conditions.ts'
import { holdOf } from '../../../core/node-claim/hold.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { isReschedulable } from '../../../core/pods/pod-rules.ts'
import { annotations, taintKeys } from '../../../core/requirements/labels.ts'
import { getIfAny } from '../client/answers.ts'
import { liveClaim, updateClaim, updateClaimStatus, updateNode } from '../client/object-writes.ts'
import { lockedPatch } from '../client/optimistic-write.ts'
import { resourcePath } from '../client/resources.ts'
import type { ClaimRef } from '../contract.ts'
import { deleteClaim } from '../lifecycle/claim-deletion.ts'
import { claimNode } from '../lifecycle/claim-nodes.ts'
import { livePodsOn } from '../lifecycle/live-pods.ts'
import type { WriteDeps } from '../parts.ts'

export interface CommandObjectsDeps extends WriteDeps {}

/** Returns the stamp of a claim: the id of the command that disrupts it. */
export function stampOf({ metadata }: NodeClaim): string | undefined {
  return metadata.annotations[annotations.disruptionCommand]
}

/**
 * Removes taint, condition and stamp from a candidate, and the end that a repair gave its pods, the stamp last, so that an interrupted release finds it again. A claim that is being
 * deleted, or that another command has stamped, is left alone; `unstamped`: one without a stamp is released all the same.
 * Returns whether it is gone or being deleted.
 */
export async function releaseCandidate(
  deps: CommandObjectsDeps,
  ref: ClaimRef,
  { commandId, unstamped = false }: { readonly commandId: string; readonly unstamped?: boolean },
): Promise<boolean> {
  // Read live: another process may have marked the claim, ahead of this one's watch.
  const claim = await liveClaim(deps, ref)
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return true
  const stamp = stampOf(claim)
  if (stamp === undefined ? !unstamped : stamp !== commandId) return false
  const nodeName = claim.status.nodeName ?? claimNode(deps, claim)?.metadata.name
  if (nodeName !== undefined) await untaint(deps, nodeName)
  if (conditionOf(claim.status.conditions, 'DisruptionReason') !== undefined)
    await updateClaimStatus(deps, ref, (current) =>
      conditionOf(current.status.conditions, 'DisruptionReason') === undefined
        ? undefined
        : { conditions: withoutCondition(current.status.conditions, 'DisruptionReason') },
    )
  if (stamp !== undefined)
    await updateClaim(deps, ref, (current) =>
      stampOf(current) === stamp
        ? lockedPatch({ metadata: { annotations: withoutCommand(current) } }, current.metadata)
        : undefined,
    )
  return false
}

/** A repair fixes the end of the pods before it deletes a claim. On one that stays any later drain would end them at once. */
function withoutCommand({ metadata }: NodeClaim): Readonly<Record<string, null>> {
  const isBound = metadata.annotations[annotations.terminationTimestamp] !== undefined
  return { [annotations.disruptionCommand]: null, ...(isBound && { [annotations.terminationTimestamp]: null }) }
}

async function untaint(deps: CommandObjectsDeps, nodeName: string): Promise<void> {
  const node = await getIfAny(deps.client, resourcePath('nodes', nodeName))
  if (node === undefined) return
  deps.cache.upsert('Node', node)
  await updateNode(deps, nodeName, (current) =>
    current.taints.some((taint) => taint.key === taintKeys.disrupted) &&
    current.metadata.deletionTimestamp === undefined
      ? { spec: { taints: current.taints.filter((taint) => taint.key !== taintKeys.disrupted) } }
      : undefined,
  )
}

/**
 * Gives up a replacement. One that pods use, that somebody holds, or that is `kept` for another reason, only loses the annotation and becomes an
 * ordinary node. Others are deleted. Returns whether it had not been initialized.
 */
export async function releaseReplacement(
  deps: CommandObjectsDeps,
  ref: ClaimRef,
  { commandId, kept = false }: { readonly commandId: string; readonly kept?: boolean },
): Promise<boolean> {
  const claim = await liveClaim(deps, ref)
  if (claim === undefined) return true
  const isUninitialized = !claim.status.conditions.some(
    ({ type, status }) => type === 'Initialized' && status === 'True',
  )
  const isOwn = ({ metadata }: NodeClaim) => metadata.annotations[annotations.replacementFor] === commandId
  if (!isOwn(claim) || claim.metadata.deletionTimestamp !== undefined) return isUninitialized
  let isKept = kept || (await isWanted(deps, claim))
  // Pods may come while the DELETE is on its way.
  const mayGo = async (live: NodeClaim) => {
    isKept = await isWanted(deps, live)
    return !isKept && isOwn(live)
  }
  if (!isKept) await deleteClaim(deps, ref, { claim, mayGo })
  if (isKept)
    await updateClaim(deps, ref, (current) =>
      isOwn(current) ? { metadata: { annotations: { [annotations.replacementFor]: null } } } : undefined,
    )
  return isUninitialized
}

/** Whether somebody holds a node, or pods use it. */
async function isWanted(deps: CommandObjectsDeps, claim: NodeClaim): Promise<boolean> {
  if (holdOf(claim, deps.now()) !== undefined) return true
  const nodeName = claim.status.nodeName ?? claimNode(deps, claim)?.metadata.name
  return nodeName !== undefined && (await livePodsOn(deps, nodeName)).some(isReschedulable)
}
