import { conditionOf, withoutCondition } from '../../core/conditions.ts'
import { annotations, taintKeys } from '../../core/labels.ts'
import type { NodeClaim } from '../../core/objects.ts'
import type { ClaimRef } from '../azure/contract.ts'
import type { KubernetesDeps } from './dependencies.ts'
import { subject } from './event-recorder.ts'
import { cachedClaim, liveClaim, updateClaim, updateClaimStatus, updateNode } from './object-writes.ts'
import { claimNode, deleteClaim } from './observe.ts'

interface Work {
  readonly commandId: string
  readonly candidates: readonly ClaimRef[]
}

/** Both objects tell it, each once for a reason (reference/karpenter-core.md 6.2). */
function tellDisruption(deps: KubernetesDeps, claim: NodeClaim): void {
  const why = conditionOf(claim.status.conditions, 'DisruptionReason')?.reason ?? 'Unknown'
  const node = claimNode(deps, claim)
  for (const object of node === undefined ? [claim] : [claim, node]) {
    const values = [object.metadata.uid, why]
    const message = `Disrupting ${object.kind}: ${why}`
    deps.events.record({ about: subject(object), reason: 'DisruptionTerminating', message, values })
  }
}

/** Deletes a command's candidates and waits until the last is gone. A candidate that was released meanwhile is left alone. */
export async function deleteCandidates(
  deps: KubernetesDeps,
  { commandId, candidates }: Work,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(
    candidates.map(async (ref) => {
      // Read live: the process that stamped the claim may be another one, ahead of this one's watch.
      const claim = await liveClaim(deps, ref)
      if (claim === undefined || claim.metadata.annotations[annotations.disruptionCommand] !== commandId) return
      tellDisruption(deps, claim)
      await deleteClaim(deps, ref)
    }),
  )
  const names = new Set(candidates.map((ref) => ref.name))
  await deps.cache.waitFor(
    (kind, key) => kind === 'NodeClaim' && names.has(key),
    () => (candidates.every((ref) => isSettled(deps, ref, commandId)) ? true : undefined),
    signal,
  )
}

function isSettled(deps: KubernetesDeps, ref: ClaimRef, commandId: string): boolean {
  const claim = cachedClaim(deps, ref)
  return (
    claim === undefined ||
    (claim.metadata.deletionTimestamp === undefined &&
      claim.metadata.annotations[annotations.disruptionCommand] !== commandId)
  )
}

/** Sets candidates free that still carry the command's id and are not being deleted. */
export async function releaseCandidates(deps: KubernetesDeps, { commandId, candidates }: Work): Promise<void> {
  await Promise.all(candidates.map((ref) => releaseCandidate(deps, ref, commandId)))
}

/** Takes taint, condition and stamp off one candidate, the stamp last: what is interrupted is found again by it. */
export async function releaseCandidate(deps: KubernetesDeps, ref: ClaimRef, commandId: string): Promise<void> {
  const claim = cachedClaim(deps, ref)
  if (
    claim === undefined ||
    claim.metadata.deletionTimestamp !== undefined ||
    claim.metadata.annotations[annotations.disruptionCommand] !== commandId
  )
    return
  const node = claimNode(deps, claim)
  if (node !== undefined) {
    await updateNode(deps, node.metadata.name, (current) =>
      current.taints.some((taint) => taint.key === taintKeys.disrupted) &&
      current.metadata.deletionTimestamp === undefined
        ? { spec: { taints: current.taints.filter((taint) => taint.key !== taintKeys.disrupted) } }
        : undefined,
    )
  }
  await updateClaimStatus(deps, ref, (current) => ({
    conditions: withoutCondition(current.status.conditions, 'DisruptionReason'),
  }))
  await updateClaim(deps, ref, () => ({ metadata: { annotations: { [annotations.disruptionCommand]: null } } }))
}
