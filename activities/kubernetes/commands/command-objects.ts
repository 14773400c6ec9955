import { conditionOf, withoutCondition } from '../../../core/conditions.ts'
import type { NodeClaim, Pod } from '../../../core/objects.ts'
import { isReschedulable } from '../../../core/pods/pod-rules.ts'
import { annotations, taintKeys } from '../../../core/requirements/labels.ts'
import { decodePod } from '../cache/decode-pod.ts'
import { isNotFound } from '../client/api-error.ts'
import { liveClaim, updateClaim, updateClaimStatus, updateNode } from '../client/object-writes.ts'
import { resourcePath } from '../client/resources.ts'
import type { ClaimRef } from '../contract.ts'
import type { ObserveDeps } from '../lifecycle/observe.ts'
import { claimNode, deleteClaim } from '../lifecycle/observe.ts'

export interface CommandObjectsDeps extends ObserveDeps {}

/** The stamp of a claim: the command that it is disrupted by. */
export function stampOf({ metadata }: NodeClaim): string | undefined {
  return metadata.annotations[annotations.disruptionCommand]
}

/** The pods of a node as the API server has them now. */
export async function livePodsOn(deps: CommandObjectsDeps, nodeName: string): Promise<readonly Pod[]> {
  const { items } = await deps.client.list('/api/v1/pods', { fieldSelector: `spec.nodeName=${nodeName}` })
  for (const item of items) deps.cache.upsert('Pod', item)
  return items.map(decodePod)
}

/**
 * Takes taint, condition and stamp off a candidate, the stamp last: what is interrupted is found again by it. A claim that is being deleted, or
 * that another command has stamped, is left alone; `unstamped`: one that has no stamp is freed all the same.
 * Returns whether it is gone or on its way out.
 */
export async function releaseCandidate(
  deps: CommandObjectsDeps,
  ref: ClaimRef,
  { commandId, unstamped = false }: { readonly commandId: string; readonly unstamped?: boolean },
): Promise<boolean> {
  // Read live: the process that marked the claim may be another one, ahead of this one's watch.
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
    await updateClaim(deps, ref, () => ({ metadata: { annotations: { [annotations.disruptionCommand]: null } } }))
  return false
}

async function untaint(deps: CommandObjectsDeps, nodeName: string): Promise<void> {
  try {
    deps.cache.upsert('Node', await deps.client.get(resourcePath('nodes', nodeName)))
  } catch (error) {
    if (isNotFound(error)) return
    throw error
  }
  await updateNode(deps, nodeName, (current) =>
    current.taints.some((taint) => taint.key === taintKeys.disrupted) &&
    current.metadata.deletionTimestamp === undefined
      ? { spec: { taints: current.taints.filter((taint) => taint.key !== taintKeys.disrupted) } }
      : undefined,
  )
}

/**
 * Gives up a replacement. One that pods use, or that is `kept` for another reason, only loses the annotation and is a node like others; what
 * nobody uses is deleted. Returns whether it had not been initialized.
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
  if (claim.metadata.annotations[annotations.replacementFor] !== commandId) return isUninitialized
  if (claim.metadata.deletionTimestamp !== undefined) return isUninitialized
  const nodeName = claim.status.nodeName ?? claimNode(deps, claim)?.metadata.name
  const isUsed = kept || (nodeName !== undefined && (await livePodsOn(deps, nodeName)).some(isReschedulable))
  if (!isUsed) await deleteClaim(deps, ref)
  else await updateClaim(deps, ref, () => ({ metadata: { annotations: { [annotations.replacementFor]: null } } }))
  return isUninitialized
}
