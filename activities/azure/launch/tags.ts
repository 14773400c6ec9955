import type { NodeClassSpec } from '../../../api/objects.ts'
import type { AzureConfig } from '../azure-config.ts'

export const tagKeys = {
  nodePool: 'karpenter.sh_nodepool',
  cluster: 'karpenter.azure.com_cluster',
  /** UID of the Namespace kube-system: it distinguishes a second cluster of the same name. */
  clusterUid: 'joiner.sh_cluster-uid',
  claimUid: 'joiner.sh_nodeclaim-uid',
  /** On VMs: UID of the Secret of the bootstrap token that the VM holds. */
  bootstrapToken: 'joiner.sh_bootstrap-token-uid',
  /** On machines: the attempt of the launch that made it. */
  attempt: 'joiner.sh_attempt',
  /** On machines of AKS (node auto-provisioning), which carry the tags of Karpenter as well. */
  aksMachine: 'karpenter.azure.com_aksmachine_nodeclaim',
  /** When an operator ended the lifecycle of the VM's claim without it: garbage once the claim is gone. */
  abandoned: 'joiner.sh_abandoned',
} as const

type Tags = Readonly<Record<string, string>>

/** Returns the value of a tag, whose name may be written in another case: to Azure it is the same name. */
export function tagOf(tags: Tags | undefined, key: string): string | undefined {
  if (tags?.[key] !== undefined) return tags[key]
  return Object.entries(tags ?? {}).find(([name]) => name.toLowerCase() === key)?.[1]
}

/** Returns all tags, from low to high: of names that differ by case the highest stays, since to Azure they are the same. */
export function mergedTags(...layers: readonly Tags[]): Record<string, string> {
  const all = layers.flatMap((tags) => Object.entries(tags))
  return Object.fromEntries(new Map(all.map((tag) => [tag[0].toLowerCase(), tag])).values())
}

/** Returns the tags that a node's resources have in every implementation (reference/azure-provider.md 4.4). */
export function nodeTags(
  { additionalTags, clusterName }: Pick<AzureConfig, 'additionalTags' | 'clusterName'>,
  { tags = {} }: Pick<NodeClassSpec, 'tags'>,
  nodePool: string | undefined,
): Record<string, string> {
  return mergedTags(usersTags(additionalTags), usersTags(tags), {
    [billingTag]: 'linux',
    [tagKeys.cluster]: clusterName,
    ...(nodePool === undefined ? {} : { [tagKeys.nodePool]: nodePool }),
  })
}

const billingTag = 'compute.aks.billing'

/** Tags that Joiner alone sets, in lower case. Ownership is read from all but one, also where a resource of Joiner's has not all of them. */
const reserved: ReadonlySet<string> = new Set([billingTag, ...Object.values(tagKeys)])

/** Returns whether Joiner alone sets a tag. */
export const isReserved = (name: string) => reserved.has(name.toLowerCase())

/** Returns the name that a tag of an AKSNodeClass or a setting has at Azure, where it may hold no slash. */
export const azureTagName = (name: string) => name.replaceAll('/', '_')

/** Returns tags of an AKSNodeClass or a setting, without those of Joiner: with the tag of AKS machines a VM would be one that Joiner never deletes. */
function usersTags(tags: Tags): Tags {
  const named = Object.entries(tags).map(([key, value]) => [azureTagName(key), value] as const)
  return Object.fromEntries(named.filter(([key]) => !isReserved(key)))
}
