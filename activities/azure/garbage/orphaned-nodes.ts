import { owningClaim } from '../../../core/node-claim/node-owner.ts'
import type { Node } from '../../../core/objects.ts'
import { terminationFinalizer } from '../../../core/requirements/labels.ts'
import type { ClusterCache } from '../../kubernetes/cache/cluster-cache.ts'
import type { ObjectWritesDeps } from '../../kubernetes/client/object-writes.ts'
import { updateNode } from '../../kubernetes/client/object-writes.ts'
import { withoutFinalizer } from '../../kubernetes/draining/finalize.ts'
import type { AzureConfig } from '../azure-config.ts'
import type { ClaimVmDeps } from '../launch/claim-vm.ts'
import { getVm } from '../launch/claim-vm.ts'
import { providerId } from '../launch/virtual-machine.ts'

export interface OrphanedNodesDeps extends ClaimVmDeps, ObjectWritesDeps {
  readonly cache: ClusterCache
  readonly config: AzureConfig
}

/** A Node in the cache that no NodeClaim will ever end. */
export interface OrphanedNode {
  readonly name: string
  readonly claimName: string
}

/**
 * Returns the Nodes that are being deleted and wait for a NodeClaim that is gone, since its finalizer was removed by hand. Kubernetes deletes a
 * claim's dependants, and Joiner's finalizer holds them. Only a Node that names that claim as its owner and its VM as its provider id is proven.
 * The cache must be up to date.
 */
export function orphanedNodes({ cache, config }: Pick<OrphanedNodesDeps, 'cache' | 'config'>): readonly OrphanedNode[] {
  return [...cache.nodes.values()].flatMap((node) => {
    const owner = owningClaim(node)
    if (owner === undefined || !isHeldByUs(node)) return []
    const ownId = providerId(config, owner.name).toLowerCase()
    if (node.providerId?.toLowerCase() !== ownId) return []
    const isOwned =
      cache.nodeClaims.get(owner.name) !== undefined || cache.nodeClaims.by('byProviderId', ownId).length > 0
    return isOwned ? [] : [{ name: node.metadata.name, claimName: owner.name }]
  })
}

const isHeldByUs = ({ metadata }: Node) =>
  metadata.deletionTimestamp !== undefined && metadata.finalizers.includes(terminationFinalizer)

/** Releases such a Node once its VM is gone. Returns whether it did. */
export async function releaseNode(deps: OrphanedNodesDeps, { name, claimName }: OrphanedNode): Promise<boolean> {
  if ((await getVm(deps, claimName)) !== undefined) return false
  let released = false
  await updateNode(deps, name, (node) => {
    released = isHeldByUs(node)
    return released ? withoutFinalizer(node.metadata.finalizers) : undefined
  })
  return released
}
