import type { EventReason } from '../../../core/events.ts'
import { holdAnnotations, holdOf, holdText, isHeldOtherwise, noHoldAnnotations } from '../../../core/node-claim/hold.ts'
import { askedText, type WantedHold } from '../../../core/node-claim/node-requests.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { liveClaim, updateClaim } from '../client/object-writes.ts'
import type { Asked, ClaimRef, HoldOutcome } from '../contract.ts'
import type { Parts, WriteDeps } from '../parts.ts'

export type NodeRequestsDeps = WriteDeps & Pick<Parts, 'log'>

/**
 * Puts a hold on a claim, or without one removes the claim's. Planners read it live before they commit. Run twice it changes nothing. A hold
 * does not stop a deletion that has begun, so nothing is written there. Errors: the claim is held otherwise than it was, while it is released.
 */
export async function writeHold(
  deps: NodeRequestsDeps,
  { claim: ref, hold, asked }: { readonly claim: ClaimRef; readonly hold?: WantedHold; readonly asked: Asked },
): Promise<HoldOutcome> {
  const before = await liveClaim(deps, ref)
  if (before === undefined) return { kind: 'late', message: `NodeClaim ${ref.name} is gone` }
  if (hold !== undefined && before.metadata.deletionTimestamp !== undefined)
    return {
      kind: 'late',
      message: `NodeClaim ${ref.name} is being deleted since ${before.metadata.deletionTimestamp}; a hold does not stop that`,
    }
  const written = hold === undefined ? noHoldAnnotations : holdAnnotations(hold)
  await updateClaim(deps, ref, (claim) => {
    const { resourceVersion } = claim.metadata
    if (!isHeldOtherwise(claim, withAnnotations(claim, written))) return undefined
    if (hold !== undefined) return { metadata: { annotations: written } }
    // An attempt that stood still since it read, and was made again by another process, must not take a newer hold away.
    if (isHeldOtherwise(claim, before))
      throw new Error(`NodeClaim ${ref.name} is held otherwise than as its release began`)
    return { metadata: { annotations: written, resourceVersion } }
  })
  const was = holdOf(before, deps.now())
  const message = hold === undefined ? releasedText(ref, was, asked) : `NodeClaim ${ref.name} is ${holdText(hold)}`
  reportAsked(deps, ref, { reason: hold === undefined ? 'NodeReleased' : 'NodeHeld', message, asked })
  deps.log.info({ nodeClaim: ref.name, ...asked, ...hold }, message)
  return { kind: 'written', message }
}

function releasedText({ name }: ClaimRef, was: ReturnType<typeof holdOf>, { by }: Asked): string {
  return was === undefined
    ? `NodeClaim ${name} was not held`
    : `NodeClaim ${name} is released${by === undefined ? '' : ` by ${by}`}; it was ${holdText(was)}`
}

function withAnnotations(
  claim: NodeClaim,
  written: Readonly<Record<string, string | null>>,
): Pick<NodeClaim, 'metadata'> {
  const all = Object.entries({ ...claim.metadata.annotations, ...written })
  const annotations = Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== null))
  return { metadata: { ...claim.metadata, annotations } }
}

/** Publishes that an operator cut short a wait of a lifecycle. */
export function reportRetry(deps: NodeRequestsDeps, ref: ClaimRef, retried: Asked & { readonly what: string }): void {
  const message = `${retried.what} is started again, as asked for${askedText(retried)}`
  reportAsked(deps, ref, { reason: 'RetryNow', message, asked: retried })
  deps.log.info({ nodeClaim: ref.name, ...retried }, 'retrying step on request')
}

/** Publishes an event on the claim, once for each operator's request. It needs no read, so failures of the API server do not delay it. */
export function reportAsked(
  deps: NodeRequestsDeps,
  ref: ClaimRef,
  { reason, message, asked }: { readonly reason: EventReason; readonly message: string; readonly asked: Asked },
): void {
  const about = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', metadata: ref }
  deps.events.record({ about, reason, message, values: [ref.uid, String(asked.atMs)] })
}
