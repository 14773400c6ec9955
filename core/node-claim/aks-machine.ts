import type { NodeClaim } from '../objects.ts'
import { annotations } from '../requirements/labels.ts'
import { fnv, utf8 } from '../values/struct-hash.ts'

type Claim = Pick<NodeClaim, 'metadata' | 'status'>

/**
 * Whether a NodeClaim represents a machine that AKS makes and deletes by its own API (node auto-provisioning, reference/azure-provider.md 4.7). A
 * claim whose VM has the name that Joiner gives it is Joiner's, whatever its annotations say.
 */
export function isAksMachine({ metadata, status }: Claim): boolean {
  if (metadata.annotations[annotations.aksMachine] === undefined) return false
  return status.providerId?.toLowerCase().endsWith(`/virtualmachines/aks-${metadata.name}`) !== true
}

/**
 * Whether Joiner manages the machine of a NodeClaim. The annotation names this very claim, or the lost one that it was made again for: a copy of its
 * manifest is not adopted.
 */
export function isAdopted(claim: Claim): boolean {
  const { uid, annotations: own } = claim.metadata
  const named = own[annotations.adoptedMachine]
  return isAksMachine(claim) && named !== undefined && [uid, own[annotations.adoptedFrom]].includes(named)
}

export interface AksMachineId {
  readonly subscriptionId: string
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

/** Longest name of a machine of Linux in AKS. */
const longestMachineName = 34
const hashLength = 6

/**
 * Returns the name of the machine that is made for a NodeClaim: the claim's, of which a long one is cut before its last dash and gets a hash of what was
 * cut (reference/azure-provider.md 4.1). Undefined for a name that no machine can have: AKS takes small letters, digits and dashes.
 */
export function machineNameOf(claimName: string): string | undefined {
  const name = claimName.length <= longestMachineName ? claimName : shortenedName(claimName)
  return name !== undefined && /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(name) ? name : undefined
}

function shortenedName(claimName: string): string | undefined {
  const dash = claimName.lastIndexOf('-')
  const kept = longestMachineName - hashLength - (claimName.length - dash)
  if (dash < 0 || kept < 1) return undefined
  return `${claimName.slice(0, kept)}${base36(fnv(utf8(claimName.slice(kept, dash))))}${claimName.slice(dash)}`
}

/** The lowest digits of a number, the most significant first. */
function base36(value: bigint): string {
  return (value % 36n ** BigInt(hashLength)).toString(36).padStart(hashLength, '0')
}
