import type { AzureConfig } from '../azure-config.ts'
import type { NodeClassSettings } from '../node-class/node-class-settings.ts'

export const tagKeys = {
  nodePool: 'karpenter.sh_nodepool',
  cluster: 'karpenter.azure.com_cluster',
  /** UID of the Namespace kube-system: a second cluster of the same name is another one. */
  clusterUid: 'joiner.sh_cluster-uid',
  claimUid: 'joiner.sh_nodeclaim-uid',
  /** On machines of AKS (node auto-provisioning), which bear the tags of Karpenter as well. */
  aksMachine: 'karpenter.azure.com_aksmachine_nodeclaim',
  /** When an operator ended the life of the VM's claim without it: garbage once the claim is gone. */
  abandoned: 'joiner.sh_abandoned',
} as const

/** The tags that a node's resources have in every implementation, from low to high (reference/azure-provider.md 4.4). */
export function nodeTags(
  { additionalTags, clusterName }: Pick<AzureConfig, 'additionalTags' | 'clusterName'>,
  { tags }: Pick<NodeClassSettings, 'tags'>,
  nodePool: string | undefined,
): Record<string, string> {
  return {
    ...withoutSlashes(additionalTags),
    ...withoutSlashes(tags),
    'compute.aks.billing': 'linux',
    [tagKeys.cluster]: clusterName,
    ...(nodePool === undefined ? {} : { [tagKeys.nodePool]: nodePool }),
  }
}

/** Tag names may not hold a slash. */
function withoutSlashes(tags: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(tags).map(([key, value]) => [key.replaceAll('/', '_'), value]))
}
