import { type Hold, holdText } from '../../node-claim/hold.ts'
import { pauseText } from '../../pauses/pauses.ts'
import { annotations, labels } from '../../requirements/labels.ts'
import { capitalized } from '../../values/texts.ts'
import { scoreOf, scoreText } from '../score.ts'
import { type BlockingPod, type Cause, mostNamedPods } from './cause.ts'

type Texts = { readonly [Kind in Cause['kind']]: (cause: Extract<Cause, { readonly kind: Kind }>) => string }

/** Upstream's texts where upstream has one (reference/karpenter-core.md 4.2, 4.5, 4.7, 4.8). */
const texts: Texts = {
  'no-node': () => 'Nodeclaim does not have an associated node',
  rebooting: () => 'Node is rebooting',
  leaving: () => 'Node is deleting or marked for deletion',
  'not-initialized': ({ isRegistered }) => `Node isn't initialized${isRegistered ? '' : ' nor registered'}`,
  nominated: () => 'Node is nominated for a pending pod',
  held: ({ hold }) => capitalized(heldText(hold)),
  'do-not-disrupt': () => `Disruption is blocked through the "${annotations.doNotDisrupt}" annotation`,
  'repair-needs-node-pool': () => 'repair requires a NodePool to construct and budget a safe replacement',
  'no-node-pool-label': () => `Node doesn't have required label (label=${labels.nodePool})`,
  'no-node-pool': ({ nodePool }) => `NodePool not found (NodePool=${nodePool})`,
  paused: ({ pause }) => capitalized(pauseText('disruption', pause)),
  'pod-do-not-disrupt': ({ pod }) => `Pod has "${annotations.doNotDisrupt}" annotation (Pod=${pod})`,
  pdb: ({ podDisruptionBudgets }) =>
    `Pdb prevents pod evictions (PodDisruptionBudget=[${podDisruptionBudgets.join(' ')}])`,
  'several-pdbs': ({ podDisruptionBudgets }) =>
    `Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[${podDisruptionBudgets.join(' ')}])`,
  'condition-tolerated': ({ condition, until }) => `condition ${condition} of the Node is tolerated until ${until}`,
  'do-not-repair': () => `repair is blocked through the "${annotations.doNotRepair}" annotation`,
  'clock-wrong': () =>
    "the clock of the process that decides is more than a minute from the API server's: no node is repaired",
  'repair-unbounded': () => 'repair requires a termination grace period to bypass blocking pods',
  'too-many-unhealthy': ({ nodePool }) => `more than 20% of nodes in nodepool "${nodePool}" are unhealthy`,
  healthy: () => 'no condition of the Node is one that is repaired',
  'no-disruptions-allowed': ({ reason }) =>
    `No allowed disruptions for disruption reason ${reason} due to blocking budget`,
  'unknown-instance-type': ({ instanceType }) => `Instance Type "${instanceType}" not found`,
  'no-label': ({ label }) => `Node does not have label "${label}"`,
  'consolidation-disabled': ({ nodePool }) => `NodePool "${nodePool}" has consolidation disabled`,
  'only-when-empty': ({ nodePool }) =>
    `NodePool "${nodePool}" has consolidation policy WhenEmpty, but node is not empty`,
  'not-consolidatable': ({ consolidateAfter }) =>
    `not consolidatable yet: no pod may have come or gone for consolidateAfter (${consolidateAfter})`,
  'not-drifted': () => 'the node has not drifted',
  'static-pool-not-consolidated': () => 'NodePools with replicas are not consolidated',
  'static-pool-not-replaced': () => 'static-drift decides about nodes of a NodePool with replicas',
  'no-static-pool': () => 'its NodePool has no replicas',
  empty: () => 'the node is empty, so it is a matter of emptiness',
  'buffer-pods': ({ node, buffers }) =>
    `Node "${node}" has buffer pods: it keeps room for CapacityBuffer ${buffers.join(', ')}`,
  'not-empty': () => 'the node is not empty: it has pods that would have to move',
  'command-failed': () => 'a command failed; it is tried again after 5 minutes at the latest',
  'other-nodes-first': () => 'other nodes go first; a later evaluation comes to this one',
  'other-drifted-first': () => 'other drifted nodes of its NodePool go first',
  'other-unhealthy-first': () => 'another unhealthy node goes first',
  'other-static-first': () => 'other drifted nodes of its NodePool go first, or the pool is to have fewer nodes',
  'no-set-of-nodes': () => 'no set of nodes was found that could go together for less',
  'pods-expected': () => 'pods are about to move to it',
  'pods-without-place': podsWithoutPlace,
  'several-new-nodes': ({ count }) => `Can't remove without creating ${count} candidates`,
  'min-values': ({ labels: short }) =>
    `Filtering by price: minValues requirement is not met for label(s) (label(s)=[${short.join(' ')}])`,
  'nothing-cheaper': () => "Can't replace with a cheaper node",
  'nothing-cheaper-than-one': () => 'nothing is cheaper than one of the nodes',
  'spot-to-spot-disabled': () => "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node",
  'few-spot-types': ({ needed, found }) =>
    `SpotToSpotConsolidation requires ${needed} cheaper instance type options than the current candidate to consolidate, got ${found}`,
  'no-ready-pool': () => 'no NodePool is ready',
  'image-on-trial': ({ nodeClass }) =>
    `AKSNodeClass ${nodeClass} has a new node image; a first node with it has to initialize before others are replaced`,
  'static-pool-not-ready': ({ nodePool }) => `static NodePool ${nodePool} is not ready and cannot stage a replacement`,
  'static-pool-at-limit': () => 'static NodePool is at its node limit and cannot stage a replacement',
  'static-pool-reservations-full': () =>
    "static NodePool's capacity reservations are full and cannot stage a replacement",
  budget: ({ nodePool }) => `the disruption budgets of NodePool ${nodePool} allow no more nodes now`,
  'requested-budget': ({ nodes }) => `the budget that was asked for, ${nodes} of each NodePool, is used up`,
  'deletion-saves-too-little': () => 'even deleting it would save too little for the disruption',
  'saves-too-little': ({ scores }) =>
    `the move saves too little: ${scores.map((score) => scoreText(scoreOf(score))).join('; ')}`,
  'chosen-empty': () => 'the node is empty',
  'chosen-drifted': () => 'the node has drifted',
  'chosen-unhealthy': ({ condition, reason }) =>
    `the node is unhealthy: condition ${condition}${reason === '' ? '' : ` (${reason})`}`,
  'chosen-together': ({ nodes }) => `one of ${nodes} nodes that are underutilized together`,
  'chosen-underutilized': () => 'the node is underutilized',
}

/** Returns the text of a cause as events have it. */
export function causeText(cause: Cause): string {
  return (texts[cause.kind] as (one: Cause) => string)(cause)
}

/** Returns the text of a cause whose pods are listed beside it. */
export function causeTitle(cause: Cause): string {
  return cause.kind === 'pods-without-place' ? 'Not all pods would find another place' : causeText(cause)
}

/** Returns what a hold forbids, for the middle of a sentence. */
export function heldText(hold: Hold): string {
  return `the NodeClaim is ${holdText(hold)} ("${annotations.holdUntil}" annotation)`
}

function podsWithoutPlace({ pods, count }: { readonly pods: readonly BlockingPod[]; readonly count: number }): string {
  const shown = pods.slice(0, mostNamedPods).map(({ name, constraint = '' }) => `${name} => ${constraint} `)
  const rest = count - mostNamedPods
  return `Not all pods would schedule, ${shown.join('')}${rest >= 0 ? ` and ${rest} other(s)` : ''}`
}
