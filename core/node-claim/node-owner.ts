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

/** Whether a Node has the labels and the taint of its configuration, which it has before registration. */
function hasJoinedAsOurs({ metadata, taints }: Node): boolean {
  return (
    taints.some(({ key }) => key === taintKeys.unregistered) ||
    [labels.nodePool, labels.registered, labels.capacityType].some((key) => metadata.labels[key] !== undefined)
  )
}
