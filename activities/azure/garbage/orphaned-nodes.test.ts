import { expect, test } from 'vitest'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { sampleClaim, sampleNode } from '../../../core/sample-objects.ts'
import { Store } from '../../kubernetes/store.ts'
import { providerId } from '../launch/virtual-machine.ts'
import { orphanedNodes } from './orphaned-nodes.ts'

const config = { subscriptionId: 's', nodeResourceGroup: 'MC_group' } as never
const leaving = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['karpenter.sh/termination'] }
const vmOf = (claim: string) => providerId(config, claim)

function found(node: Node, claims: readonly NodeClaim[] = []): readonly string[] {
  const nodes = new Store<Node>()
  const nodeClaims = new Store<NodeClaim>({ byProviderId: ({ status }) => status.providerId?.toLowerCase() })
  nodes.set(node.metadata.name, node)
  for (const claim of claims) nodeClaims.set(claim.metadata.name, claim)
  return orphanedNodes({ cache: { nodes, nodeClaims } as never, config }).map(({ claimName }) => claimName)
}

const orphan = sampleNode('aks-a', { metadata: leaving, providerId: vmOf('a').toUpperCase() })

test.each<[string, Node, readonly NodeClaim[], readonly string[]]>([
  ['that waits for a claim that is gone', orphan, [], ['a']],
  [
    'whose claim is there',
    sampleNode('aks-a', { metadata: leaving, providerId: vmOf('a') }),
    [sampleClaim('aks-a', { metadata: { name: 'a' } })],
    [],
  ],
  [
    'whose VM another claim names',
    orphan,
    [sampleClaim('aks-a', { metadata: { name: 'b' }, status: { providerId: vmOf('a') } })],
    [],
  ],
  [
    'that nobody deletes',
    sampleNode('aks-a', { metadata: { ...leaving, deletionTimestamp: undefined } as never, providerId: vmOf('a') }),
    [],
    [],
  ],
  [
    'that another finalizer holds',
    sampleNode('aks-a', { metadata: { ...leaving, finalizers: ['other'] }, providerId: vmOf('a') }),
    [],
    [],
  ],
  [
    'of a VM elsewhere',
    sampleNode('aks-a', { metadata: leaving, providerId: 'azure:///subscriptions/s/other/aks-a' }),
    [],
    [],
  ],
])('a Node %s', (_, node, claims, names) => {
  expect(found(node, claims)).toEqual(names)
})
