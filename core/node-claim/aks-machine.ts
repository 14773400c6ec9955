import type { NodeClaim } from '../objects.ts'
import { annotations } from '../requirements/labels.ts'

type Claim = Pick<NodeClaim, 'metadata' | 'status'>

/**
 * Whether a NodeClaim represents a machine that AKS makes and deletes by its own API (node auto-provisioning, reference/azure-provider.md 4.7). A
 * claim whose VM has the name that Joiner gives it is Joiner's, whatever its annotations say.
 */
export function isAksMachine({ metadata, status }: Claim): boolean {
  if (metadata.annotations[annotations.aksMachine] === undefined) return false
  return status.providerId?.toLowerCase().endsWith(`/virtualmachines/aks-${metadata.name}`) !== true
}

/** Whether Joiner manages the machine of a NodeClaim. The annotation names this very claim: a copy of its manifest is not adopted. */
export function isAdopted(claim: Claim): boolean {
  return isAksMachine(claim) && claim.metadata.annotations[annotations.adoptedMachine] === claim.metadata.uid
}

/** The place of an AKS machine. */
export interface AksMachineId {
  readonly subscriptionId: string
  /** Resource group of the cluster. */
  readonly resourceGroup: string
  readonly cluster: string
  readonly pool: string
  readonly name: string
}

/** Reads the resource id of a machine; undefined for anything else. The text comes from whoever may annotate NodeClaims, and its parts become paths of requests. */
export function parseAksMachineId(id: string): AksMachineId | undefined {
  const [, subscriptionId, resourceGroup, cluster, pool, name] = machineId.exec(id) ?? []
  if (subscriptionId === undefined || resourceGroup === undefined || cluster === undefined) return undefined
  return pool === undefined || name === undefined ? undefined : { subscriptionId, resourceGroup, cluster, pool, name }
}

const machineId =
  /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/Microsoft\.ContainerService\/managedClusters\/([^/]+)\/agentPools\/([a-z][a-z0-9]{0,11})\/machines\/([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)$/i
