// What a change of the cluster asks of maintenance.
import { conditionOf, isTrue } from '../../../core/conditions.ts'
import { isDeleting, type Node, type NodeClaim, type ObjectMeta } from '../../../core/objects.ts'
import type { ClusterChange } from '../../kubernetes/cache/change-feed.ts'
import type { ClusterCache } from '../../kubernetes/cache/cluster-cache.ts'
import { nodeClaimOf } from '../../kubernetes/lifecycle/claim-nodes.ts'

type Ask = 'garbage' | 'nodeClasses' | 'inPlace'

/** Returns the parts that a change asks for. `cache`: the cluster after it. */
export function asksOf(cache: ClusterCache, { kind, before, after }: ClusterChange): readonly Ask[] {
  if (kind === 'NodeClaim') return asksOfClaim(cache, before as NodeClaim | undefined, after as NodeClaim | undefined)
  if (kind === 'Node') {
    // Its VM may be gone as well, which a claim that stays does not tell.
    const claim = after === undefined ? nodeClaimOf({ cache }, before as Node) : undefined
    return claim !== undefined && !isDeleting(claim) ? ['garbage'] : []
  }
  // The end of an overlay may end a conflict.
  const isSeen = kind === 'NodeOverlay' || ((kind === 'NodePool' || kind === 'AKSNodeClass') && after !== undefined)
  if (!isSeen || specOf(before) === specOf(after)) return []
  return kind === 'AKSNodeClass' ? ['nodeClasses', 'inPlace'] : ['nodeClasses']
}

function asksOfClaim({ nodeClasses }: ClusterCache, before?: NodeClaim, after?: NodeClaim): readonly Ask[] {
  if (before === undefined) return []
  if (after !== undefined) return isRefusal(before, after) ? ['garbage'] : []
  const { conditions } = before.status
  // Of a claim that its lifecycle did not end, or that never had a node, VM, NIC or disk may be left.
  const isInOrder = isTrue(conditions, 'Registered') && isTrue(conditions, 'InstanceTerminating')
  // A class that is being deleted waits for its claims (reference/azure-provider.md 1.5).
  const isWaiting = [...nodeClasses.values()].some(isDeleting)
  return [...(isInOrder ? [] : (['garbage'] as const)), ...(isWaiting ? (['nodeClasses'] as const) : [])]
}

/** Changes with more than the status of an object, or its labels and annotations. */
function specOf(object: { readonly metadata: ObjectMeta } | undefined): string | undefined {
  return object && `${object.metadata.generation} ${object.metadata.deletionTimestamp}`
}

/** Whether an attempt to launch has just failed: its NIC and disk may be left. */
function isRefusal(before: NodeClaim, after: NodeClaim): boolean {
  const [was, is] = [before, after].map(({ status }) => conditionOf(status.conditions, 'Launched'))
  return is !== undefined && is.status !== 'True' && (is.message ?? '') !== '' && is.message !== was?.message
}
