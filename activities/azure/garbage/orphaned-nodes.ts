import { terminationFinalizer } from '../../../core/labels.ts'
import type { Node } from '../../../core/objects.ts'
import { withoutFinalizer } from '../../kubernetes/draining/finalize.ts'
import { updateNode } from '../../kubernetes/object-writes.ts'
import type { AzureDeps } from '../dependencies.ts'
import { getVm } from '../launch/claim-vm.ts'
import { claimNameOf, providerId } from '../launch/virtual-machine.ts'

/** A Node that the cache knows and that no NodeClaim will ever end. */
export interface OrphanedNode {
  readonly name: string
  readonly claimName: string
}

/**
 * The Nodes that are being deleted and wait for a NodeClaim that is gone: somebody took its finalizer off. Kubernetes deletes what a claim owned,
 * and Joiner's finalizer holds it. To be read from a cache that is up to date.
 */
export function orphanedNodes({ cache, config }: Pick<AzureDeps, 'cache' | 'config'>): readonly OrphanedNode[] {
  return [...cache.nodes.values()].flatMap((node) => {
    const claimName = claimOf(node, config)
    if (claimName === undefined || !isHeldByUs(node)) return []
    const isOwned =
      cache.nodeClaims.get(claimName) !== undefined ||
      cache.nodeClaims.by('byProviderId', node.providerId?.toLowerCase() ?? '').length > 0
    return isOwned ? [] : [{ name: node.metadata.name, claimName }]
  })
}

/** The claim that a Node's VM is named after; undefined for a Node of no VM of this resource group. */
function claimOf({ providerId: own = '' }: Node, config: AzureDeps['config']): string | undefined {
  const id = own.toLowerCase()
  const claimName = claimNameOf(id.slice(id.lastIndexOf('/') + 1))
  return id === providerId(config, claimName).toLowerCase() ? claimName : undefined
}

const isHeldByUs = ({ metadata }: Node) =>
  metadata.deletionTimestamp !== undefined && metadata.finalizers.includes(terminationFinalizer)

/** Lets such a Node go once its VM is gone. Returns whether it did. */
export async function releaseNode(deps: AzureDeps, { name, claimName }: OrphanedNode): Promise<boolean> {
  if ((await getVm(deps, claimName)) !== undefined) return false
  let released = false
  await updateNode(deps, name, (node) => {
    released = isHeldByUs(node)
    return released ? withoutFinalizer(node.metadata.finalizers) : undefined
  })
  return released
}
