import { isAdopted, isAksMachine } from '../../../core/node-claim/aks-machine.ts'
import type { CachedObject, CacheUse } from './cached-kinds.ts'

/**
 * Returns whether an object belongs to another provider: NodePools and NodeClaims of one in the same cluster, or NodeClaims of node
 * auto-provisioning, whose machines AKS makes and deletes. Joiner never sees them; their Nodes count as unmanaged nodes. Where `machines` are managed,
 * those that were adopted are Joiner's (`activities/azure/machines/adopt-machines.ts`).
 */
export function isOfAnotherProvider(object: CachedObject, { machines = false }: Pick<CacheUse, 'machines'>): boolean {
  if (object.kind !== 'NodeClaim' && object.kind !== 'NodePool') return false
  if (object.kind === 'NodeClaim' && isAksMachine(object) && !(machines && isAdopted(object))) return true
  const { group, kind } = object.kind === 'NodeClaim' ? object.spec.nodeClassRef : object.template.spec.nodeClassRef
  return group !== 'karpenter.azure.com' || kind !== 'AKSNodeClass'
}
