import { isTrue } from '../../../core/conditions.ts'
import type { KnownClaim } from '../../../core/garbage.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import type { ClusterCache } from '../../kubernetes/cache/cluster-cache.ts'
import { claimNode } from '../../kubernetes/lifecycle/claim-nodes.ts'
import type { AzureConfig } from '../azure-config.ts'
import type { FoundResources } from './found-resources.ts'
import { listedInstance } from './listed-instance.ts'

interface KnownClaimDeps {
  readonly cache: ClusterCache
  readonly config: AzureConfig
}

/** Returns a NodeClaim as the rules of garbage need it. */
export function knownClaim(
  deps: KnownClaimDeps,
  claim: NodeClaim,
  { listed }: Pick<FoundResources, 'listed'>,
): KnownClaim {
  const { name, uid, deletionTimestamp } = claim.metadata
  const node = claimNode(deps, claim)
  return {
    name,
    uid,
    isRegistered: isTrue(claim.status.conditions, 'Registered'),
    isBeingDeleted: deletionTimestamp !== undefined,
    hasReadyNode: node !== undefined && isTrue(node.conditions, 'Ready'),
    instance: listedInstance(claim, listed, deps.config),
  }
}
