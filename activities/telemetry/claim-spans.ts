import { createHash } from 'node:crypto'
import type { NodeClaim } from '../../core/objects.ts'
import { annotations, labels } from '../../core/requirements/labels.ts'
import { activityScope } from '../activity-context.ts'
import { cachedClaim, liveClaim } from '../kubernetes/client/object-writes.ts'
import type { ClaimRef } from '../kubernetes/contract.ts'
import type { Parts, WriteDeps } from '../kubernetes/parts.ts'

export type ClaimSpansDeps = WriteDeps & Pick<Parts, 'tracing'>

/** The span of a whole launch, from the NodeClaim to the ready Node: each step of the lifecycle is a part of it. */
const launchSpan = 'nodeClaimLifecycle'

/**
 * Runs a step of a claim's lifecycle as a span. The claim's annotation names the trace, so a step belongs to it in every process,
 * and workflows need not know of it. Costs nothing for a claim without the annotation, or while tracing is off.
 */
export async function claimSpan<T extends { readonly kind: string }>(
  deps: ClaimSpansDeps,
  { step, claim: ref }: { readonly step: string; readonly claim: ClaimRef },
  work: () => Promise<T>,
): Promise<T> {
  const claim = await tracedClaim(deps, ref)
  if (claim === undefined) return work()
  return deps.tracing.span(
    step,
    { parent: launchParent(claim), attributes: { ...about(claim), 'temporal.attempt': activityScope().attempt } },
    async (addAttributes) => {
      const outcome = await work()
      addAttributes({ 'joiner.outcome': outcome.kind })
      return outcome
    },
  )
}

/** Records the end of a claim's launch: its Node is ready, or it was given up for `error`. */
export async function launchEnds(deps: ClaimSpansDeps, ref: ClaimRef, error?: string): Promise<void> {
  const claim = await tracedClaim(deps, ref)
  if (claim === undefined) return
  const parent = claim.metadata.annotations[annotations.traceParent]
  const startMs = Date.parse(claim.metadata.creationTimestamp)
  deps.tracing.past(launchSpan, { parent, startMs, spanId: launchSpanId(claim), attributes: about(claim), error })
}

async function tracedClaim(deps: ClaimSpansDeps, ref: ClaimRef): Promise<NodeClaim | undefined> {
  if (!deps.tracing.isOn) return undefined
  const claim = cachedClaim(deps, ref) ?? (await liveClaim(deps, ref))
  return claim?.metadata.annotations[annotations.traceParent] === undefined ? undefined : claim
}

/** Derives the id of a launch's span, so that every process knows it long before the span is recorded. */
function launchSpanId({ metadata }: NodeClaim): string {
  return createHash('sha256').update(metadata.uid).digest('hex').slice(0, 16)
}

/** `traceparent` of the launch: the trace of its creation with the launch's own span. */
function launchParent(claim: NodeClaim): string | undefined {
  return claim.metadata.annotations[annotations.traceParent]?.replace(/-[0-9a-f]{16}-/, `-${launchSpanId(claim)}-`)
}

function about({ metadata }: NodeClaim) {
  return {
    'k8s.nodeclaim.name': metadata.name,
    'k8s.nodeclaim.uid': metadata.uid,
    'karpenter.nodepool': metadata.labels[labels.nodePool],
    'karpenter.instance_type': metadata.labels[labels.instanceType],
    'karpenter.zone': metadata.labels[labels.zone],
    'karpenter.capacity_type': metadata.labels[labels.capacityType],
  }
}
