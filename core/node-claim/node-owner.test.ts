import { expect, test } from 'vitest'
import type { Node } from '../objects.ts'
import { sampleClaim, sampleNode } from '../sample-objects.ts'
import { isNodeOf } from './node-owner.ts'

const claim = sampleClaim('aks-a', { metadata: { name: 'a', uid: 'uid-a' } })
const owner = (uid: string, kind = 'NodeClaim', apiVersion = 'karpenter.sh/v1') => ({
  ownerReferences: [{ apiVersion, kind, name: 'a', uid }],
})
const bare = { labels: {}, ownerReferences: [] }
const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' } as const

test.each<[string, Partial<Node['metadata']>, Node['taints'], boolean]>([
  ['that the claim owns', { ...bare, ...owner('uid-a') }, [], true],
  [
    'of an earlier claim of the name',
    { ...bare, ...owner('uid-b'), labels: { 'karpenter.sh/nodepool': 'p' } },
    [],
    false,
  ],
  ['that joined and is not registered', bare, [unregistered], true],
  ['that joined without the taint, in a NodePool', { ...bare, labels: { 'karpenter.sh/nodepool': 'p' } }, [], true],
  [
    'that joined without the taint or a NodePool',
    { ...bare, labels: { 'karpenter.sh/capacity-type': 'spot' } },
    [],
    true,
  ],
  ['that lost its owner', { ...bare, labels: { 'karpenter.sh/registered': 'true' } }, [], true],
  ['of an AKS node pool', { ...bare, labels: { 'kubernetes.azure.com/agentpool': 'nodes' } }, [], false],
  ['that another kind of object owns', { ...bare, ...owner('uid-a', 'NodeClaim', 'example.com/v1') }, [], false],
])('a Node %s', (_, metadata, taints, isOwn) => {
  const sample = sampleNode('aks-a')
  expect(isNodeOf(claim, { ...sample, metadata: { ...sample.metadata, ...metadata }, taints })).toBe(isOwn)
})
