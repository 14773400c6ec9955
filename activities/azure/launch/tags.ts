import type { NodeClassSpec } from '../../../api/objects.ts'
import type { AzureConfig } from '../azure-config.ts'

export const tagKeys = {
  nodePool: 'karpenter.sh_nodepool',
  cluster: 'karpenter.azure.com_cluster',
  /** UID of the Namespace kube-system: it distinguishes a second cluster of the same name. */
  clusterUid: 'joiner.sh_cluster-uid',
  claimUid: 'joiner.sh_nodeclaim-uid',
  /** On machines: the attempt of the launch that made it. */
  attempt: 'joiner.sh_attempt',
  /** On machines of AKS (node auto-provisioning), which carry the tags of Karpenter as well. */
  aksMachine: 'karpenter.azure.com_aksmachine_nodeclaim',
  /** When an operator ended the lifecycle of the VM's claim without it: garbage once the claim is gone. */
  abandoned: 'joiner.sh_abandoned',
} as const

/** Returns the value of a tag, whose name may be written in another case: to Azure it is the same name. */
export function tagOf(tags: Readonly<Record<string, string>> | undefined, key: string): string | undefined {
  if (tags?.[key] !== undefined) return tags[key]
  return Object.entries(tags ?? {}).find(([name]) => name.toLowerCase() === key)?.[1]
}

/** Returns the tags that a node's resources have in every implementation, from low to high (reference/azure-provider.md 4.4). */
export function nodeTags(
  { additionalTags, clusterName }: Pick<AzureConfig, 'additionalTags' | 'clusterName'>,
  { tags = {} }: Pick<NodeClassSpec, 'tags'>,
  nodePool: string | undefined,
): Record<string, string> {
  return {
    ...usersTags(additionalTags),
    ...usersTags(tags),
    'compute.aks.billing': 'linux',
    [tagKeys.cluster]: clusterName,
    ...(nodePool === undefined ? {} : { [tagKeys.nodePool]: nodePool }),
  }
}

/** Tags that ownership is read from and that not every VM of Joiner's has, in lower case: to Azure, names that differ by case are the same. */
const reserved: ReadonlySet<string> = new Set([
  tagKeys.clusterUid,
  tagKeys.claimUid,
  tagKeys.aksMachine,
  tagKeys.attempt,
  tagKeys.abandoned,
])

/**
 * Returns tags of an AKSNodeClass or a setting, without those of ownership: with the tag of AKS machines a VM would be one that Joiner never
 * deletes. Tag names may not hold a slash.
 */
function usersTags(tags: Readonly<Record<string, string>>): Record<string, string> {
  const named = Object.entries(tags).map(([key, value]) => [key.replaceAll('/', '_'), value] as const)
  return Object.fromEntries(named.filter(([key]) => !reserved.has(key.toLowerCase())))
}
