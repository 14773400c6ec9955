import type { Node, NodeClaim, OwnerReference } from '../objects.ts'
import { labels, taintKeys } from '../requirements/labels.ts'

/** The NodeClaim that a Node's owner references name; undefined when none does. */
export function owningClaim({ metadata }: Node): OwnerReference | undefined {
  return metadata.ownerReferences.find(
    ({ apiVersion, kind }) => kind === 'NodeClaim' && apiVersion.startsWith('karpenter.sh/'),
  )
}

/**
 * Whether a Node with the provider id of a NodeClaim, or with the name of its VM, is proven to be the claim's: registration has made the claim its
 * owner, or it joined by a configuration of Karpenter's kind and has no owner yet. A Node of an AKS node pool is neither, whatever NodeClaim has
 * the name of its VM, and is never registered, drained or deleted (docs/architecture.md "Invariants").
 */
export function isNodeOf({ metadata }: Pick<NodeClaim, 'metadata'>, node: Node): boolean {
  const owner = owningClaim(node)
  return owner === undefined ? hasJoinedAsOurs(node) : owner.uid === metadata.uid
}

/** Labels and the taint that nodes get with their configuration, before anybody has registered them. */
function hasJoinedAsOurs({ metadata, taints }: Node): boolean {
  return (
    taints.some(({ key }) => key === taintKeys.unregistered) ||
    [labels.nodePool, labels.registered, labels.capacityType].some((key) => metadata.labels[key] !== undefined)
  )
}
