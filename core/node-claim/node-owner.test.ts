import { expect, test } from 'vitest'
import { sampleClaim, sampleCondition, sampleNode, sampleTime } from '../../test/samples/sample-objects.ts'
import type { Node, NodeClaim } from '../objects.ts'
import { hasLostNode, isNodeOf, isOwnNodeOfVm, type Join, joinOf, joinsOf } from './node-owner.ts'

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

const joining = sampleClaim('aks-a', {
  metadata: { name: 'a', uid: 'uid-a' },
  status: { conditions: [sampleCondition('Launched')] },
})
const { nodeName: _, ...status } = joining.status
const launched: NodeClaim = { ...joining, status }
const registered = sampleClaim('aks-a', { metadata: { name: 'a', uid: 'uid-a' } })
const withId = (name: string, providerId: string | undefined): Node => {
  const { providerId: __, ...node } = sampleNode(name)
  return providerId === undefined ? node : { ...node, providerId }
}
const ours = { labels: { 'karpenter.sh/nodepool': 'default' } }
const nodeUid = (uid: string) => ({ annotations: { 'joiner.sh/node-uid': uid } })
const later = { creationTimestamp: new Date(sampleTime + 3_600_000).toISOString() }

test.each<[string, NodeClaim, Node, Join | undefined]>([
  ['the VM’s own Node before registration', launched, sampleNode('aks-a'), 'joined'],
  [
    'a Node with another name and the VM’s id',
    launched,
    sampleNode('evil', { providerId: 'azure:///aks-a' }),
    undefined,
  ],
  ['a Node with the VM’s name and another id', launched, sampleNode('aks-a', { providerId: 'azure:///b' }), undefined],
  ['the id in capitals', launched, sampleNode('aks-a', { providerId: 'AZURE:///AKS-A' }), 'joined'],
  ['a Node without an id yet', launched, withId('aks-a', undefined), undefined],
  ['the Node that registration named', registered, sampleNode('aks-a'), 'registered'],
  ['with its uid', registered, sampleNode('aks-a', { metadata: nodeUid('uid-aks-a') }), 'registered'],
  [
    'a copy of it',
    registered,
    sampleNode('aks-a', { metadata: { ...owner('uid-a'), ...nodeUid('earlier') } }),
    'joined',
  ],
  ['one that a kubelet registered again', registered, sampleNode('aks-a', { metadata: later }), 'joined'],
  [
    'one that Karpenter owns for the claim',
    registered,
    sampleNode('aks-a', { metadata: { ...later, ...owner('uid-a') } }),
    'registered',
  ],
  ['one of another claim', registered, sampleNode('aks-a', { metadata: owner('uid-b') }), undefined],
  [
    'a Node with another name and the id',
    registered,
    sampleNode('evil', { metadata: ours, providerId: 'azure:///aks-a' }),
    undefined,
  ],
  [
    'such a Node that names the claim as its owner',
    registered,
    sampleNode('evil', { metadata: owner('uid-a'), providerId: 'azure:///aks-a' }),
    undefined,
  ],
])('%s', (_, of, node, join) => {
  expect(joinOf(of, node)).toBe(join)
})

test('of several Nodes with one provider id the registered one is the claim’s, whatever their order', () => {
  const own = sampleNode('aks-a')
  const rogue = sampleNode('evil', { providerId: 'azure:///aks-a' })
  for (const nodes of [
    [own, rogue],
    [rogue, own],
  ]) {
    const joins = joinsOf(nodes, [registered])
    expect([...joins.claimOf]).toEqual([[own, registered]])
    expect([...joins.strangers]).toEqual([[rogue, registered]])
    expect([...joins.lost]).toEqual([])
  }
  const gone = joinsOf([rogue], [registered])
  expect([gone.claimOf.size, [...gone.strangers.keys()], [...gone.lost]]).toEqual([0, [rogue], [registered]])
})

test('a claim whose Node never joined has lost none', () => {
  expect(hasLostNode(launched, undefined)).toBe(false)
  expect(hasLostNode(registered, undefined)).toBe(true)
  expect(hasLostNode(registered, sampleNode('aks-a', { metadata: later }))).toBe(true)
})

test.each<[string, string, string | undefined, boolean]>([
  ['the names are equal', 'aks-a', 'azure:///AKS-A', true],
  ['the VM is named in capitals', 'aks-a', 'azure:///aks-a', true],
  ['the Node is another', 'aks-b', 'azure:///aks-a', false],
  ['the id is another', 'aks-a', 'azure:///aks-b', false],
  ['there is no id', 'aks-a', undefined, false],
])('a VM’s own Node: %s', (_, name, providerId, isOwn) => {
  expect(isOwnNodeOfVm(withId(name, providerId), { name: 'AKS-a', providerId: 'azure:///aks-a' })).toBe(isOwn)
})

test('a claim that was made again has the Node of the lost one, and no other claim has it', () => {
  const again = (adoptedFrom: string) =>
    sampleClaim('aks-a', {
      metadata: { name: 'a', uid: 'uid-new', annotations: { 'joiner.sh/adopted-from': adoptedFrom } },
      status: { conditions: [] },
    })
  const sample = sampleNode('aks-a')
  const node = { ...sample, metadata: { ...sample.metadata, ...bare, ...owner('uid-a') } }
  expect([isNodeOf(again('uid-a'), node), isNodeOf(again('uid-b'), node)]).toEqual([true, false])
})
