import { terminationDeadline } from '../../../core/node-claim/lifecycle.ts'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { timeText } from '../../../core/values/time.ts'
import { claimBeingDeleted, updateClaim } from '../client/object-writes.ts'
import type { ClaimRef } from '../contract.ts'
import { subject } from '../event-recorder.ts'
import type { WriteDeps } from '../parts.ts'

/** Fixes the end of the drain of a claim with a terminationGracePeriod, once, in an annotation that everybody can read. */
export async function stampTermination(deps: WriteDeps, ref: ClaimRef): Promise<NodeClaim | undefined> {
  const claim = await claimBeingDeleted(deps, ref)
  const deadline = claim && terminationDeadline(claim)
  if (claim === undefined || deadline === undefined) return claim
  if (claim.metadata.annotations[annotations.terminationTimestamp] !== undefined) return claim
  const text = timeText(deadline)
  publishDeadline(deps, claim, text)
  return updateClaim(deps, ref, () => ({ metadata: { annotations: { [annotations.terminationTimestamp]: text } } }))
}

/** Writes that a claim's pods end at that time (epoch ms) at the latest, whatever budgets and annotations say. An earlier end stays. */
export function boundTermination(deps: WriteDeps, ref: ClaimRef, endMs: number): Promise<NodeClaim | undefined> {
  return updateClaim(deps, ref, (current) => {
    const stamp = earlierStamp(current, endMs)
    return stamp === undefined ? undefined : { metadata: { annotations: stamp } }
  })
}

/** Returns the annotation that ends a claim's pods at that time; undefined when they already end no later. */
export function earlierStamp(claim: NodeClaim, deadlineMs: number): Readonly<Record<string, string>> | undefined {
  const known = terminationDeadline(claim)
  const isStamped = claim.metadata.annotations[annotations.terminationTimestamp] !== undefined
  if (isStamped && known !== undefined && known <= deadlineMs) return undefined
  return { [annotations.terminationTimestamp]: timeText(Math.min(deadlineMs, known ?? deadlineMs)) }
}

/** Publishes when the pods of a node end. */
export function publishDeadline(deps: WriteDeps, object: Node | NodeClaim, time: string): void {
  const message = `All pods will be deleted by ${time}`
  deps.events.record({ about: subject(object), reason: 'TerminationGracePeriodExpiring', message })
}
