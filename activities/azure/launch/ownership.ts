import type { VirtualMachine } from '@azure/arm-compute'
import { defined } from '../../../core/values/defined.ts'
import type { AzureConfig } from '../azure-config.ts'
import { tagKeys, tagOf } from './tags.ts'

type Tags = Readonly<Record<string, string>> | undefined

/** The owner of a VM or NIC, as far as its tags prove it. A name proves nothing (docs/architecture.md "Invariants"). */
type Ownership =
  | {
      readonly kind: 'ours'
      /** UID of the NodeClaim that it was made for; unset on what Karpenter made. */
      readonly claimUid?: string
      readonly nodePool?: string
    }
  /** Not this cluster's, or not provably so; `why` says what the tags lack, to follow "it". */
  | { readonly kind: 'foreign'; readonly why: string }

/**
 * Reads the owner of a VM or NIC from its tags: ours with this cluster's tag and the tag of a NodePool or NodeClaim, and without the tag of AKS
 * machines, which carry Karpenter's tags as well (reference/threats.md 5).
 */
export function ownershipOf(tags: Tags, { clusterName, clusterUid }: ClusterIdentity): Ownership {
  const [cluster, uid, claimUid, nodePool] = [
    tagKeys.cluster,
    tagKeys.clusterUid,
    tagKeys.claimUid,
    tagKeys.nodePool,
  ].map((key) => tagOf(tags, key))
  const foreign = (why: string): Ownership => ({ kind: 'foreign', why })
  if (tagOf(tags, tagKeys.aksMachine) !== undefined)
    return foreign(`is a machine of AKS (tag ${tagKeys.aksMachine}), which AKS itself deletes`)
  if (cluster === undefined) return foreign(`has no tag ${tagKeys.cluster}`)
  if (cluster !== clusterName)
    return foreign(`has the tag ${tagKeys.cluster} of cluster "${cluster}", and this is "${clusterName}"`)
  if (uid !== undefined && uid !== clusterUid)
    return foreign(`has the tag ${tagKeys.clusterUid} of another cluster that is called "${clusterName}" as well`)
  if (claimUid === undefined && nodePool === undefined)
    return foreign(`has neither the tag ${tagKeys.claimUid} nor the tag ${tagKeys.nodePool}`)
  return { kind: 'ours', ...defined({ claimUid, nodePool }) }
}

export type ClusterIdentity = Pick<AzureConfig, 'clusterName' | 'clusterUid'>

/** A NodeClaim, as far as tags name it. `nodePool` is unset for a claim without one. */
export interface ClaimIdentity {
  readonly uid: string
  readonly nodePool?: string | undefined
  /** UID of the lost NodeClaim whose VM it was made again for. */
  readonly adoptedFrom?: string | undefined
}

/** The owner of the VM with the name of a NodeClaim's. */
export type VmOwner =
  | { readonly kind: 'claim' }
  /** An earlier NodeClaim of this cluster with the same name. */
  | { readonly kind: 'earlierClaim'; readonly uid: string }
  | { readonly kind: 'foreign'; readonly why: string }

/**
 * Compares a VM's tags with a NodeClaim. Without the tag of a UID, which Karpenter does not set, cluster and NodePool have to match.
 */
export function vmOwner(
  { tags }: Pick<VirtualMachine, 'tags'>,
  claim: ClaimIdentity,
  cluster: ClusterIdentity,
): VmOwner {
  const ownership = ownershipOf(tags, cluster)
  if (ownership.kind === 'foreign') return ownership
  const { claimUid, nodePool } = ownership
  if (claimUid !== undefined)
    return claimUid === claim.uid || claimUid === claim.adoptedFrom
      ? { kind: 'claim' }
      : { kind: 'earlierClaim', uid: claimUid }
  if (nodePool === claim.nodePool) return { kind: 'claim' }
  const pool = claim.nodePool === undefined ? 'none' : `"${claim.nodePool}"`
  return {
    kind: 'foreign',
    why: `has the tag ${tagKeys.nodePool} of NodePool "${nodePool}", and the NodeClaim's NodePool is ${pool}`,
  }
}
