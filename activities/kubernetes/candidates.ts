import { withoutCondition } from '../../core/conditions.ts'
import { annotations, taintKeys } from '../../core/labels.ts'
import type { ClaimRef } from '../azure/contract.ts'
import type { KubernetesDeps } from './dependencies.ts'
import { subject } from './event-recorder.ts'
import { cachedClaim, liveClaim, updateClaim, updateClaimStatus, updateNode } from './object-writes.ts'
import { claimNode, deleteClaim } from './observe.ts'

interface Work {
  readonly commandId: string
  readonly candidates: readonly ClaimRef[]
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
      deps.events.record({
        about: subject(claim),
        reason: 'DisruptionTerminating',
        message: `Disrupting NodeClaim: command ${commandId}`,
        values: [ref.uid, commandId],
      })
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
