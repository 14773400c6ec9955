import { expect, test } from 'vitest'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { sampleClaim, sampleNode } from '../../../test/samples/sample-objects.ts'
import { Store } from '../../kubernetes/cache/store.ts'
import { providerId } from '../launch/virtual-machine.ts'
import { orphanedNodes } from './orphaned-nodes.ts'

const config = { subscriptionId: 's', nodeResourceGroup: 'MC_group' }
const ownedBy = (name: string, kind = 'NodeClaim') => ({
  ownerReferences: [{ apiVersion: 'karpenter.sh/v1', kind, name, uid: `uid-${name}` }],
})
const leaving = {
  deletionTimestamp: '2026-01-01T00:00:00Z',
  finalizers: ['karpenter.sh/termination'],
  ...ownedBy('a'),
}
const vmOf = (claim: string) => providerId(config, claim)

function found(node: Node, claims: readonly NodeClaim[] = [], managesMachines = false): readonly string[] {
  const nodes = new Store<Node>()
  const nodeClaims = new Store<NodeClaim>({ byProviderId: ({ status }) => status.providerId?.toLowerCase() })
  nodes.set(node.metadata.name, node)
  for (const claim of claims) nodeClaims.set(claim.metadata.name, claim)
  return orphanedNodes({ cache: { nodes, nodeClaims } as never, config: { ...config, managesMachines } as never }).map(
    ({ claimName }) => claimName,
  )
}

const orphan = sampleNode('aks-a', { metadata: leaving, providerId: vmOf('a').toUpperCase() })
const like = (metadata: Partial<Node['metadata']>, id = vmOf('a')) =>
  sampleNode('aks-a', { metadata: { ...leaving, ...metadata }, providerId: id })

test.each<[string, Node, readonly NodeClaim[], readonly string[]]>([
  ['that waits for a claim that is gone', orphan, [], ['a']],
  ['whose claim is there', like({}), [sampleClaim('aks-a', { metadata: { name: 'a' } })], []],
  [
    'whose VM another claim names',
    orphan,
    [sampleClaim('aks-a', { metadata: { name: 'b' }, status: { providerId: vmOf('a') } })],
    [],
  ],
  ['that is not being deleted', like({ deletionTimestamp: undefined } as never), [], []],
  ['that another finalizer holds', like({ finalizers: ['other'] }), [], []],
  ['of a VM elsewhere', like({}, 'azure:///subscriptions/s/other/aks-a'), [], []],
  ['without an owner, with the name of its VM', like({ ownerReferences: [] }), [], ['a']],
  [
    'without an owner, with the name of its VM, whose claim is there',
    like({ ownerReferences: [] }),
    [sampleClaim('aks-a', { metadata: { name: 'a' } })],
    [],
  ],
  ['without an owner, with the VM of another', like({ ownerReferences: [], name: 'aks-b' }), [], []],
  ['of another kind of owner', like(ownedBy('a', 'Machine')), [], []],
  ['whose owner has another VM', like(ownedBy('b')), [], []],
])('a Node %s', (_, node, claims, names) => {
  expect(found(node, claims)).toEqual(names)
})

const vm = 'aks-machines-a-38517176-vm'
const ofMachine = (metadata: Partial<Node['metadata']> = {}, id = vmOf(vm.slice(4))) =>
  sampleNode(vm, { metadata: { ...leaving, name: vm, ...metadata }, providerId: id })

test.each<[string, Node, readonly NodeClaim[], readonly string[]]>([
  ['that waits for a claim that is gone', ofMachine(), [], ['a']],
  ['whose claim is there', ofMachine(), [sampleClaim('x', { metadata: { name: 'a' } })], []],
  [
    'whose VM another claim names',
    ofMachine(),
    [sampleClaim('x', { metadata: { name: 'b' }, status: { providerId: vmOf(vm.slice(4)) } })],
    [],
  ],
  ['with the VM of another', ofMachine({}, vmOf('b')), [], []],
  ['of a VM elsewhere', ofMachine({}, `azure:///subscriptions/s/other/${vm}`), [], []],
])('a Node of an AKS machine %s', (_, node, claims, names) => {
  expect(found(node, claims, true)).toEqual(names)
  expect(found(node, claims)).toEqual([])
})
