import { drainPlan } from '../../../core/node-claim/drain.ts'
import { nothingReported } from '../../../core/node-claim/drain-waits.ts'
import { untilDeadline, whenAborted } from '../../abortable-wait.ts'
import { activityScope } from '../../activity-context.ts'
import { cachedClaim } from '../client/object-writes.ts'
import type { ClaimRef } from '../contract.ts'
import { claimNodes } from '../lifecycle/claim-nodes.ts'
import { type DrainDeps, drain } from './drain.ts'
import { bindingMs } from './late-binding.ts'

/** Time in which it is done where the API server is quick. */
const atOnceMs = 1000

/**
 * Drains the Nodes of a claim that were tainted long enough ago and have no pods left, as after most disruption commands: that needs no step of its own.
 * Returns whether it did so; otherwise, and where the API server is slow or busy, `drain` goes on from the cluster's state.
 */
export async function drainEmpty(deps: DrainDeps, ref: ClaimRef): Promise<boolean> {
  const claim = cachedClaim(deps, ref)
  const nodes = claim === undefined ? [] : claimNodes(deps, claim)
  if (claim === undefined || nodes.length === 0 || deps.client.isBusy) return false
  const now = deps.now()
  const pods = nodes.flatMap(({ metadata }) => [...deps.cache.pods.by('byNode', metadata.name)])
  if (!drainPlan({ pods, now }).done || bindingMs(claim, nodes, now) > 0) return false
  const outcome = await untilDeadline(atOnceMs, activityScope().signal, (late) => {
    const drained = drain(deps, { claim: ref, reported: nothingReported }, late).catch(() => undefined)
    return Promise.race([drained, whenAborted(late)])
  })
  return typeof outcome === 'object' && outcome.kind === 'drained'
}
