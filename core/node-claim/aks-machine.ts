import type { NodeClaim } from '../objects.ts'
import { annotations } from '../requirements/labels.ts'

/**
 * Whether a NodeClaim represents a machine that AKS makes and deletes by its own API (node auto-provisioning, reference/azure-provider.md 4.7). A
 * claim whose VM has the name that Joiner gives it is Joiner's, whatever its annotations say.
 */
export function isAksMachine({ metadata, status }: Pick<NodeClaim, 'metadata' | 'status'>): boolean {
  if (metadata.annotations[annotations.aksMachine] === undefined) return false
  return status.providerId?.toLowerCase().endsWith(`/virtualmachines/aks-${metadata.name}`) !== true
}
