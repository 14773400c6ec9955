import { clusterName } from '../../deploy/local/cluster.ts'
import type { HostileMachine } from './hostile-object.ts'

const uid = '00000000-0000-4000-8000-00000000dead'
const ours = {
  'karpenter.azure.com_cluster': clusterName,
  'karpenter.sh_nodepool': 'general',
  'joiner.sh_nodeclaim-uid': uid,
}

type Tags = Readonly<Record<string, string>>

/** VMs in the node resource group that are not Joiner's, with names that NodeClaims can have. None of them may be touched. */
export function hostileMachines(): readonly HostileMachine[] {
  const tags: readonly (readonly [string, Tags])[] = [
    ['without tags', {}],
    ['with tags of somebody', { owner: 'payments', 'aks-managed-poolName': 'nodes' }],
    ['of another cluster', { ...ours, 'karpenter.azure.com_cluster': 'other' }],
    ['of another cluster of the name', { ...ours, 'joiner.sh_cluster-uid': 'other' }],
    ['of a cluster that differs by case', { ...ours, 'karpenter.azure.com_cluster': clusterName.toUpperCase() }],
    ['of a cluster whose name begins so', { ...ours, 'karpenter.azure.com_cluster': `${clusterName}-2` }],
    ['of AKS', { ...ours, 'karpenter.azure.com_aksmachine_nodeclaim': 'm' }],
    ['of AKS, in capitals', { ...ours, 'KARPENTER.AZURE.COM_AKSMACHINE_NODECLAIM': 'm' }],
    ['with the tag of the cluster alone', { 'karpenter.azure.com_cluster': clusterName }],
    ['with the UID of a NodeClaim alone', { 'joiner.sh_nodeclaim-uid': uid }],
    ['left by an operator, it says', { 'karpenter.azure.com_cluster': clusterName, 'joiner.sh_abandoned': 'yes' }],
    ['of a NodePool alone', { 'karpenter.sh_nodepool': 'general' }],
    ['with an empty tag of a cluster', { ...ours, 'karpenter.azure.com_cluster': '' }],
    ['with tags of prototypes', { constructor: clusterName, toString: 'general' }],
  ]
  return tags.map(([what, own], index) => ({ kind: 'VM', what, name: `aks-nodes-32301838-vms${index}`, tags: own }))
}
