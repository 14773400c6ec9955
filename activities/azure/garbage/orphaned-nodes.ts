import type { HeldNode } from '../../../core/garbage.ts'
import { type NamedVm, namingNode, type PodCounts } from '../../../core/machines-in-use.ts'
import { isNodeOfSomeClaim, isOwnNodeOfVm, owningClaim } from '../../../core/node-claim/node-owner.ts'
import type { Node } from '../../../core/objects.ts'
import { terminationFinalizer } from '../../../core/requirements/labels.ts'
import { updateNode } from '../../kubernetes/client/object-writes.ts'
import { deleteNode, withoutFinalizer } from '../../kubernetes/draining/node-deletion.ts'
import type { WriteDeps } from '../../kubernetes/parts.ts'
import type { AzureConfig } from '../azure-config.ts'
import { type ClaimVmDeps, getVmNamed } from '../launch/claim-vm.ts'
import { claimNameOf, providerId, vmName } from '../launch/virtual-machine.ts'
import type { AzureParts } from '../parts.ts'
import { isFreeOfPods } from './machines-in-use.ts'

export type OrphanedNodesDeps = ClaimVmDeps & WriteDeps & Pick<AzureParts, 'cache' | 'config'>

/**
 * Returns the Nodes that are being deleted and wait for a NodeClaim that is gone, since its finalizer was removed by hand. Kubernetes deletes a
 * claim's dependants, and Joiner's finalizer holds them. A Node that names that claim as its owner and its VM as its provider id is proven. A claim
 * that was deleted without its dependants (`--cascade=orphan`) leaves a Node without owner: that is proven by VM name and provider id.
 * Where AKS machines are managed AKS names the VM, and the Node as the VM. The cache must be up to date.
 */
export function orphanedNodes({ cache, config }: Pick<OrphanedNodesDeps, 'cache' | 'config'>): readonly HeldNode[] {
  return [...cache.nodes.values()].flatMap((node) => {
    const claimName = claimOf(node)
    if (claimName === undefined || !isHeldByUs(node)) return []
    const vm = vmOf(config, node, claimName)
    if (vm === undefined) return []
    const isOwned =
      cache.nodeClaims.get(claimName) !== undefined ||
      cache.nodeClaims.by('byProviderId', vm.providerId.toLowerCase()).length > 0
    return isOwned ? [] : [{ name: node.metadata.name, claimName, vm, nodes: [namingNode(node)] }]
  })
}

/** Returns the VM of a Node: of the name that Joiner gives it, or of the Node's own name where AKS may have named both. */
function vmOf({ managesMachines = false, ...config }: AzureConfig, node: Node, claimName: string): NamedVm | undefined {
  const names = [
    claimName,
    ...(managesMachines && owningClaim(node) !== undefined ? [claimNameOf(node.metadata.name)] : []),
  ]
  const name = names.find((one) => providerId(config, one).toLowerCase() === node.providerId?.toLowerCase())
  return name === undefined ? undefined : { name: vmName(name), providerId: providerId(config, name) }
}

/** Returns the name of the claim that a Node was made for. */
function claimOf(node: Node): string | undefined {
  const owner = owningClaim(node)
  if (owner !== undefined) return owner.name
  const { name, ownerReferences } = node.metadata
  return ownerReferences.length === 0 && isNodeOfSomeClaim(node) ? claimNameOf(name) : undefined
}

const isHeldByUs = ({ metadata }: Node) =>
  metadata.deletionTimestamp !== undefined && metadata.finalizers.includes(terminationFinalizer)

/** Releases such a Node once its VM is gone and no pods are known to run there. Returns whether it did. */
export async function releaseNode(
  deps: OrphanedNodesDeps,
  { name, vm }: HeldNode,
  counts: PodCounts | undefined,
): Promise<boolean> {
  if ((await getVmNamed(deps, vm.name)) !== undefined) return false
  if (!(await isFreeOfPods(deps, { ...vm, name }, counts))) return false
  let released = false
  await updateNode(deps, name, (node) => {
    released = isHeldByUs(node)
    return released ? withoutFinalizer(node.metadata.finalizers) : undefined
  })
  return released
}

/** Deletes the own Node of a VM whose deletion was accepted. Its finalizer holds it until a later pass finds that the VM is gone. */
export async function deleteOwnNode(deps: OrphanedNodesDeps, claimName: string): Promise<void> {
  const vm = { name: vmName(claimName), providerId: providerId(deps.config, claimName) }
  const node = deps.cache.nodes.get(vm.name.toLowerCase())
  if (node === undefined || !isOwnNodeOfVm(node, vm) || !isNodeOfSomeClaim(node)) return
  if (node.metadata.deletionTimestamp === undefined) await deleteNode(deps, node)
}
