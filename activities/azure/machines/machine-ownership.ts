import { parseAksMachineId } from '../../../core/node-claim/aks-machine.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { printableStart } from '../../../core/values/printable.ts'
import { isSameText } from '../../../core/values/texts.ts'
import type { AzureConfig } from '../azure-config.ts'
import { claimIdentity } from '../launch/claim-vm.ts'
import type { ClusterIdentity } from '../launch/ownership.ts'
import { tagKeys, tagOf } from '../launch/tags.ts'
import { providerIdOf } from '../launch/virtual-machine.ts'
import type { AksMachine } from './machines-api.ts'

type Scope = Pick<
  AzureConfig,
  'subscriptionId' | 'clusterResourceGroup' | 'nodeResourceGroup' | 'clusterName' | 'clusterUid'
>
type Tags = Readonly<Record<string, string>> | undefined

/** Returns why a NodeClaim's annotation names no machine of this cluster, or its VM is elsewhere; to follow the claim. Undefined: both are here. */
export function whyElsewhere({ metadata, status }: NodeClaim, scope: Scope): string | undefined {
  const text = metadata.annotations[annotations.aksMachine] ?? ''
  const shown = printableStart(text, 300)
  const id = parseAksMachineId(text)
  if (id === undefined)
    return `has the annotation ${annotations.aksMachine} "${shown}", which is not the id of a machine`
  const isHere =
    isSameText(id.subscriptionId, scope.subscriptionId) &&
    isSameText(id.resourceGroup, scope.clusterResourceGroup) &&
    isSameText(id.cluster, scope.clusterName)
  if (!isHere)
    return `names the machine ${shown}, and this is cluster "${scope.clusterName}" in resource group "${scope.clusterResourceGroup}" of subscription ${scope.subscriptionId}; correct CLUSTER_NAME and ARM_RESOURCE_GROUP if that is wrong`
  // Of a machine that is being made the VM is not known yet.
  if (status.providerId !== undefined && vmNameOf({ status }, scope) === undefined)
    return `has status.providerID "${printableStart(status.providerId ?? '', 300)}", which is no VM of resource group ${scope.nodeResourceGroup}; correct AZURE_NODE_RESOURCE_GROUP if that is wrong`
  return undefined
}

/** Returns the name of a claim's VM by its provider id; undefined for one outside of the node resource group. */
export function vmNameOf(
  { status }: { readonly status: Pick<NodeClaim['status'], 'providerId'> },
  { subscriptionId, nodeResourceGroup }: Pick<Scope, 'subscriptionId' | 'nodeResourceGroup'>,
): string | undefined {
  const [, subscription = '', group = '', name] =
    /^azure:\/\/\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/Microsoft\.Compute\/virtualMachines\/([^/]+)$/i.exec(
      status.providerId ?? '',
    ) ?? []
  return isSameText(subscription, subscriptionId) && isSameText(group, nodeResourceGroup) ? name : undefined
}

/** Returns why a machine is not proven to be a NodeClaim's; to follow "it". Undefined: it is the claim's. */
export function whyNotOwn({ properties }: AksMachine, claim: NodeClaim, scope: Scope): string | undefined {
  const vm = providerIdOf(properties?.resourceId ?? '')
  const { providerId } = claim.status
  // A machine that was made again has another VM than the claim's status says. Its tag proves more than that.
  const isProven = providerId === undefined || tagOf(properties?.tags, tagKeys.claimUid) === claim.metadata.uid
  if (!isProven && !isSameText(vm, providerId))
    return `has the VM "${properties?.resourceId ?? ''}", and status.providerID is "${printableStart(claim.status.providerId ?? '', 300)}"`
  return whyForeignTags(properties?.tags, claim, scope)
}

/**
 * Returns why the tags of a machine or its VM are not those of a NodeClaim. Karpenter's name the claim, Joiner's its UID as well, which nobody can change:
 * where a claim was made again for a lost one, it stays that one's.
 */
export function whyForeignTags(tags: Tags, claim: NodeClaim, scope: ClusterIdentity): string | undefined {
  const { uid, nodePool, adoptedFrom } = claimIdentity(claim)
  const wanted: readonly (readonly [string, string | undefined])[] = [
    [tagKeys.cluster, scope.clusterName],
    [tagKeys.aksMachine, claim.metadata.name],
    [tagKeys.nodePool, nodePool],
  ]
  const optional = [
    [tagKeys.clusterUid, scope.clusterUid],
    ...(adoptedFrom === undefined ? [[tagKeys.claimUid, uid] as const] : []),
  ] as const
  const all = [...wanted, ...optional.filter(([key]) => tagOf(tags, key) !== undefined)]
  const [key, value] = all.find(([name, text]) => tagOf(tags, name) !== text) ?? []
  if (key === undefined) return undefined
  const found = tagOf(tags, key)
  const own = found === undefined ? `no tag ${key}` : `the tag ${key} "${found}"`
  return `has ${own}, and this NodeClaim's machine has ${value === undefined ? 'none' : `"${value}"`}`
}

/** Whether tags are those of a machine that Karpenter made for this cluster. Returns the name of its NodeClaim. */
export function claimNameIn(tags: Tags, { clusterName, clusterUid }: ClusterIdentity): string | undefined {
  const [cluster, uid] = [tagOf(tags, tagKeys.cluster), tagOf(tags, tagKeys.clusterUid)]
  if (cluster !== clusterName || (uid !== undefined && uid !== clusterUid)) return undefined
  return tagOf(tags, tagKeys.aksMachine)
}
