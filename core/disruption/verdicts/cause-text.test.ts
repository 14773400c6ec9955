import { expect, it } from 'vitest'
import { sampleCauses } from '../../../test/samples/sample-causes.ts'
import type { Cause } from './cause.ts'
import { causeText, causeTitle } from './cause-text.ts'

const texts: Readonly<Record<Cause['kind'], string>> = {
  'no-node': 'Nodeclaim does not have an associated node',
  rebooting: 'Node is rebooting',
  leaving: 'Node is deleting or marked for deletion',
  'not-initialized': "Node isn't initialized nor registered",
  nominated: 'Node is nominated for a pending pod',
  held: 'The NodeClaim is held until 2026-01-01T00:00:00Z by ann, with its expiry: a core dump; odd ("joiner.sh/hold-until" annotation)',
  'do-not-disrupt': 'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation',
  'repair-needs-node-pool': 'repair requires a NodePool to construct and budget a safe replacement',
  'condition-tolerated': 'condition Ready of the Node is tolerated until 2026-01-01T00:10:00Z',
  'do-not-repair': 'repair is blocked through the "karpenter.sh/do-not-repair" annotation',
  'clock-wrong':
    "the clock of the process that decides is more than a minute from the API server's: no node is repaired",
  'repair-unbounded': 'repair requires a termination grace period to bypass blocking pods',
  'too-many-unhealthy': 'more than 20% of nodes in nodepool "p" are unhealthy',
  healthy: 'no condition of the Node is one that is repaired',
  'other-unhealthy-first': 'another unhealthy node goes first',
  'chosen-unhealthy': 'the node is unhealthy: condition Ready (NodeStatusUnknown)',
  'no-node-pool-label': "Node doesn't have required label (label=karpenter.sh/nodepool)",
  'no-node-pool': 'NodePool not found (NodePool=p)',
  paused: 'Disruption of node "n" is paused by ann since 2026-01-01T00:00:00Z until 2026-01-01T01:00:00Z: release day',
  'pod-do-not-disrupt': 'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=shop/web)',
  pdb: 'Pdb prevents pod evictions (PodDisruptionBudget=[shop/a])',
  'several-pdbs': 'Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[shop/a shop/b])',
  'no-disruptions-allowed': 'No allowed disruptions for disruption reason Empty due to blocking budget',
  'unknown-instance-type': 'Instance Type "t" not found',
  'no-label': 'Node does not have label "topology.kubernetes.io/zone"',
  'consolidation-disabled': 'NodePool "p" has consolidation disabled',
  'only-when-empty': 'NodePool "p" has consolidation policy WhenEmpty, but node is not empty',
  'not-consolidatable': 'not consolidatable yet: no pod may have come or gone for consolidateAfter (30s)',
  'not-drifted': 'the node has not drifted',
  'static-pool-not-consolidated': 'NodePools with replicas are not consolidated',
  'static-pool-not-replaced': 'static-drift decides about nodes of a NodePool with replicas',
  'no-static-pool': 'its NodePool has no replicas',
  empty: 'the node is empty, so it is a matter of emptiness',
  'buffer-pods': 'Node "n1" has buffer pods: it keeps room for CapacityBuffer default/spare, shop/spare',
  'not-empty': 'the node is not empty: it has pods that would have to move',
  'command-failed': 'a command failed; it is tried again after 5 minutes at the latest',
  'other-nodes-first': 'other nodes go first; a later evaluation comes to this one',
  'other-drifted-first': 'other drifted nodes of its NodePool go first',
  'other-static-first': 'other drifted nodes of its NodePool go first, or the pool is to have fewer nodes',
  'no-set-of-nodes': 'no set of nodes was found that could go together for less',
  'pods-expected': 'pods are about to move to it',
  'pods-without-place': 'Not all pods would schedule, shop/web => no zone fits shop/db =>   and 2 other(s)',
  'several-new-nodes': "Can't remove without creating 2 candidates",
  'min-values': 'Filtering by price: minValues requirement is not met for label(s) (label(s)=[a b])',
  'nothing-cheaper': "Can't replace with a cheaper node",
  'nothing-cheaper-than-one': 'nothing is cheaper than one of the nodes',
  'spot-to-spot-disabled': "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node",
  'image-on-trial':
    'AKSNodeClass default has a new node image; a first node with it has to initialize before others are replaced',
  'few-spot-types':
    'SpotToSpotConsolidation requires 15 cheaper instance type options than the current candidate to consolidate, got 3',
  'no-ready-pool': 'no NodePool is ready',
  'static-pool-not-ready': 'static NodePool p is not ready and cannot stage a replacement',
  'static-pool-at-limit': 'static NodePool is at its node limit and cannot stage a replacement',
  'static-pool-reservations-full': "static NodePool's capacity reservations are full and cannot stage a replacement",
  budget: 'the disruption budgets of NodePool p allow no more nodes now',
  'requested-budget': 'the budget that was asked for, 2 of each NodePool, is used up',
  'deletion-saves-too-little': 'even deleting it would save too little for the disruption',
  'saves-too-little': 'the move saves too little: score 0.10 < threshold 0.50 (k: 2, savings 1.0%, disruption 10.0%)',
  'chosen-empty': 'the node is empty',
  'chosen-drifted': 'the node has drifted',
  'chosen-together': 'one of 3 nodes that are underutilized together',
  'chosen-underutilized': 'the node is underutilized',
}

it.each(Object.values(sampleCauses))('the text of $kind', (cause) => {
  expect(causeText(cause)).toBe(texts[cause.kind])
})

it('a node that is registered lacks initialization alone', () => {
  expect(causeText({ kind: 'not-initialized', isRegistered: true })).toBe("Node isn't initialized")
})

it('pods are left out where they are listed beside the text', () => {
  expect(causeTitle(sampleCauses['pods-without-place'])).toBe('Not all pods would find another place')
  expect(causeTitle(sampleCauses.pdb)).toBe(texts.pdb)
})
