import type { Node, NodeClaim, OwnerReference } from '../objects.ts'
import { labels, taintKeys } from '../requirements/labels.ts'

/** Returns the NodeClaim in a Node's owner references; undefined when there is none. */
export function owningClaim({ metadata }: Node): OwnerReference | undefined {
  return metadata.ownerReferences.find(
    ({ apiVersion, kind }) => kind === 'NodeClaim' && apiVersion.startsWith('karpenter.sh/'),
  )
}

/**
 * Whether a Node with a NodeClaim's provider id or VM name is proven to be the claim's. Either registration made the claim its owner, or it joined by
 * a configuration of Karpenter's kind and has no owner yet. A Node of an AKS node pool is neither, even if a NodeClaim has the name of its VM. It is
 * never registered, drained or deleted (docs/architecture.md "Invariants").
 */
export function isNodeOf({ metadata }: Pick<NodeClaim, 'metadata'>, node: Node): boolean {
  const owner = owningClaim(node)
  return owner === undefined ? hasJoinedAsOurs(node) : owner.uid === metadata.uid
}

/** Whether a Node is the one that a VM's own kubelet makes: it has the VM's name and its provider ID. */
export function isOwnNodeOfVm(node: Node, vm: { readonly name: string; readonly providerId: string }): boolean {
  return node.metadata.name === vm.name.toLowerCase() && node.providerId?.toLowerCase() === vm.providerId.toLowerCase()
}

/** Whether a Node was made for some NodeClaim: it names one as its owner, or joined as one that has none yet. */
export function isNodeOfSomeClaim(node: Node): boolean {
  return owningClaim(node) !== undefined || hasJoinedAsOurs(node)
}

/** Whether a Node has the labels and the taint of its configuration, which it has before registration. */
function hasJoinedAsOurs({ metadata, taints }: Node): boolean {
  return (
    taints.some(({ key }) => key === taintKeys.unregistered) ||
    [labels.nodePool, labels.registered, labels.capacityType].some((key) => metadata.labels[key] !== undefined)
  )
}
