import { isAksMachine } from '../../../core/node-claim/aks-machine.ts'
import type { CachedObject } from './cached-kinds.ts'

/**
 * Returns whether an object belongs to another provider: NodePools and NodeClaims of one in the same cluster, or NodeClaims of node
 * auto-provisioning, whose machines AKS makes and deletes. Joiner never sees them; their Nodes count as unmanaged nodes.
 */
export function isOfAnotherProvider(object: CachedObject): boolean {
  if (object.kind !== 'NodeClaim' && object.kind !== 'NodePool') return false
  if (object.kind === 'NodeClaim' && isAksMachine(object)) return true
  const { group, kind } = object.kind === 'NodeClaim' ? object.spec.nodeClassRef : object.template.spec.nodeClassRef
  return group !== 'karpenter.azure.com' || kind !== 'AKSNodeClass'
}
