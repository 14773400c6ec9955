import type { NodeClaim } from '../../../core/objects.ts'
import { isReschedulable } from '../../../core/pods/pod-rules.ts'
import { isConflict, isNotFound } from '../client/api-error.ts'
import { cachedClaim, liveClaim } from '../client/object-writes.ts'
import { resourcePath } from '../client/resources.ts'
import type { ClaimRef } from '../contract.ts'
import type { Parts, WriteDeps } from '../parts.ts'
import { type ClaimNodesDeps, claimNode } from './claim-nodes.ts'

export type DisruptionCountDeps = ClaimNodesDeps & Pick<Parts, 'disruptionMetrics'>

/** Counts a claim that was deleted without a command, with the pods that lose their place. */
export function countDisruption(deps: DisruptionCountDeps, claim: NodeClaim, reason: string): void {
  const node = claimNode(deps, claim)
  const pods = node === undefined ? [] : deps.cache.pods.by('byNode', node.metadata.name)
  deps.disruptionMetrics.disrupted({
    nodeClaim: claim,
    why: { reason },
    reschedulablePods: pods.filter(isReschedulable).length,
  })
}

/** A claim as it was judged, and whether it may still go as it is after a conflict. */
interface Judged {
  readonly claim: NodeClaim
  readonly mayGo: (live: NodeClaim) => Promise<boolean>
}

/**
 * Requests a claim's deletion: of the claim with this UID, and only once. Returns whether this call began it: of two that ask at the same time
 * (an activity that was retried while its first attempt still ran), one counts it. `judged`: it goes only in a version that was judged; without it
 * whatever the claim has become. The lock shows whether the cache was late, so nothing is read first.
 */
export async function deleteClaim(deps: WriteDeps, ref: ClaimRef, judged?: Judged): Promise<boolean> {
  const { name, uid } = ref
  const path = resourcePath('nodeclaims', name)
  return deps.client.inTurn(path, async () => {
    let claim = judged?.claim ?? cachedClaim(deps, ref) ?? (await liveClaim(deps, ref))
    while (claim !== undefined && claim.metadata.deletionTimestamp === undefined) {
      try {
        const { resourceVersion } = claim.metadata
        await deps.client.delete(path, { uid, resourceVersion })
        return true
      } catch (error) {
        if (isNotFound(error)) return false
        if (!isConflict(error)) throw error
      }
      claim = await liveClaim(deps, ref)
      if (claim !== undefined && judged !== undefined && !(await judged.mayGo(claim))) return false
    }
    return false
  })
}
