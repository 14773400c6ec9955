import { expect, test } from 'vitest'
import { ownershipOf, type VmOwner, vmOwner } from './ownership.ts'

const cluster = { clusterName: 'prod', clusterUid: 'own-uid' }
const claim = { uid: 'uid-a', nodePool: 'general' }
const karpenters = { 'karpenter.azure.com_cluster': 'prod', 'karpenter.sh_nodepool': 'general' }
const ours = { ...karpenters, 'joiner.sh_cluster-uid': 'own-uid', 'joiner.sh_nodeclaim-uid': 'uid-a' }

const foreign = (why: string): VmOwner => ({ kind: 'foreign', why })
const otherCluster = foreign('has the tag karpenter.azure.com_cluster of cluster "other", and this is "prod"')
const machine = foreign('is a machine of AKS (tag karpenter.azure.com_aksmachine_nodeclaim), which AKS itself deletes')

test.each<[string, Record<string, string> | undefined, VmOwner]>([
  ['without tags', undefined, foreign('has no tag karpenter.azure.com_cluster')],
  ['with tags of others', { owner: 'us' }, foreign('has no tag karpenter.azure.com_cluster')],
  [
    'with the UID of the claim alone',
    { 'joiner.sh_nodeclaim-uid': 'uid-a' },
    foreign('has no tag karpenter.azure.com_cluster'),
  ],
  ['of another cluster', { ...ours, 'karpenter.azure.com_cluster': 'other' }, otherCluster],
  [
    'of another cluster of the same name',
    { ...ours, 'joiner.sh_cluster-uid': 'other-uid' },
    foreign('has the tag joiner.sh_cluster-uid of another cluster that is called "prod" as well'),
  ],
  [
    'with the tag of the cluster alone',
    { 'karpenter.azure.com_cluster': 'prod', 'joiner.sh_abandoned': 'now' },
    foreign('has neither the tag joiner.sh_nodeclaim-uid nor the tag karpenter.sh_nodepool'),
  ],
  ['of AKS, with all tags of ours', { ...ours, 'karpenter.azure.com_aksmachine_nodeclaim': 'a' }, machine],
  ['of AKS, by a tag in capitals', { ...ours, 'KARPENTER.AZURE.COM_AKSMACHINE_NODECLAIM': 'a' }, machine],
  [
    'of another cluster, by a tag in capitals',
    { 'Karpenter.azure.com_Cluster': 'other', 'joiner.sh_nodeclaim-uid': 'uid-a' },
    otherCluster,
  ],
  ['of the claim', ours, { kind: 'claim' }],
  [
    'of the claim, without the UID of the cluster',
    { ...karpenters, 'joiner.sh_nodeclaim-uid': 'uid-a' },
    { kind: 'claim' },
  ],
  ['of an earlier claim', { ...ours, 'joiner.sh_nodeclaim-uid': 'uid-b' }, { kind: 'earlierClaim', uid: 'uid-b' }],
  ['of Karpenter', karpenters, { kind: 'claim' }],
  [
    'of Karpenter in another NodePool',
    { ...karpenters, 'karpenter.sh_nodepool': 'gpu' },
    foreign('has the tag karpenter.sh_nodepool of NodePool "gpu", and the NodeClaim\'s NodePool is "general"'),
  ],
])('the owner of a VM %s', (_, tags, owner) => {
  expect(vmOwner(tags === undefined ? {} : { tags }, claim, cluster)).toEqual(owner)
})

test('a claim without a NodePool owns no VM of Karpenter', () => {
  expect(vmOwner({ tags: karpenters }, { uid: 'uid-a' }, cluster)).toMatchObject({ kind: 'foreign' })
  expect(ownershipOf(karpenters, cluster)).toEqual({ kind: 'ours', nodePool: 'general' })
})

test('a claim that was made again owns the VM of the lost one, and no other one', () => {
  const again = { ...claim, uid: 'uid-new', adoptedFrom: 'uid-a' }
  expect(vmOwner({ tags: ours }, again, cluster)).toEqual({ kind: 'claim' })
  expect(vmOwner({ tags: { ...ours, 'joiner.sh_nodeclaim-uid': 'uid-new' } }, again, cluster)).toEqual({
    kind: 'claim',
  })
  expect(vmOwner({ tags: { ...ours, 'joiner.sh_nodeclaim-uid': 'uid-b' } }, again, cluster)).toMatchObject({
    uid: 'uid-b',
  })
  expect(vmOwner({ tags: { ...ours, 'karpenter.azure.com_cluster': 'other' } }, again, cluster)).toEqual(otherCluster)
})
