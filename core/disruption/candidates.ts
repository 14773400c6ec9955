import { isTrue } from '../conditions.ts'
import { type InstanceType, typeNamed } from '../instance-type.ts'
import { holdOf } from '../node-claim/hold.ts'
import { isReady } from '../node-claim/registration.ts'
import type { RepairRule } from '../node-repair/repair-policy.ts'
import type { Node, NodeClaim, NodePool, Pod, PodDisruptionBudget } from '../objects.ts'
import type { Pauses } from '../pauses/pauses.ts'
import { hasDoNotDisrupt, isActive, isReschedulable, podName } from '../pods/pod-rules.ts'
import { annotations, labels } from '../requirements/labels.ts'
import { isLeaving, labelsOf, type StateNode } from '../scheduling/state-nodes.ts'
import { evictionBlockedBy } from './budgets/pod-disruption-budgets.ts'
import { nodePrice, rescheduleCost } from './costs.ts'
import type { DisruptionClass, DisruptionReason } from './disruption-class.ts'
import { replacementsInUse } from './replacements-in-use.ts'
import type { Cause, PodBlock } from './verdicts/cause.ts'

/** The cluster that disruption decides on, read at one moment. */
export interface DisruptionView {
  /** Nodes with their claims, Nodes alone and claims alone. */
  readonly nodes: readonly StateNode[]
  /** Bound pods by Node name. */
  readonly podsOn: (node: string) => readonly Pod[]
  /** By name. */
  readonly nodePools: ReadonlyMap<string, NodePool>
  /** Instance types that each pool can buy; a pool without an entry is not ours. */
  readonly instanceTypes: ReadonlyMap<string, readonly InstanceType[]>
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[]
  /** Names of Nodes and NodeClaims on which pending pods are expected. */
  readonly nominated: ReadonlySet<string>
  /** Names of NodeClaims that are reserved: they are no candidates, and use up budgets. */
  readonly reserved?: ReadonlySet<string>
  /** CapacityBuffers whose virtual pods are placed on a Node, as `namespace/name`. Unset: there are none. */
  readonly buffersOn?: (node: string) => readonly string[]
  /** Epoch ms. */
  readonly now: number
  /** Pauses that operators requested; unset when there are none. */
  readonly pauses?: Pauses
  /** Whether `controller.kubernetes.io/pod-deletion-cost` sets the cost of an eviction. Default true. */
  readonly deletionCosts?: boolean
  /** By which sick nodes are repaired; unset or empty: they are not. */
  readonly repairs?: readonly RepairRule[]
  /** Whether the planner's clock is wrong, so that no sick node is repaired. Unset: it is not. */
  readonly isClockWrong?: boolean
}

/** A managed node that may be disrupted, with everything that belongs to it. */
export interface Candidate {
  readonly nodeClaim: NodeClaim
  readonly node: Node
  readonly nodePool: NodePool
  /** All pods that are bound to it. */
  readonly pods: readonly Pod[]
  /** Pods that need another place when the node goes. */
  readonly reschedulable: readonly Pod[]
  /** Unset when its pool can no longer buy it. */
  readonly instanceType: InstanceType | undefined
  /** USD an hour; 0 when unknown. */
  readonly price: number
  /** Cost of moving its pods; 1 without any. */
  readonly disruptionCost: number
}

/** Whether moving the pods of a node costs nothing: upstream defines an empty node so (reference/karpenter-core.md 4.3). */
export function isEmpty({ disruptionCost }: Candidate): boolean {
  return disruptionCost <= 1
}

/** A node that cannot be disrupted, and the event that reports it. */
export interface Blocked {
  readonly object: { readonly kind: 'NodeClaim' | 'NodePool'; readonly name: string; readonly nodeName?: string }
  readonly reason: 'DisruptionBlocked' | 'Unconsolidatable' | 'NodeRepairBlocked'
  readonly cause: Cause
}

export type Eligibility =
  | { readonly kind: 'candidate'; readonly candidate: Candidate }
  /** Not ours, or a Node without a claim: no event is published. */
  | { readonly kind: 'other' }
  | { readonly kind: 'blocked'; readonly blocked: Blocked }

/**
 * Returns whether a node may be disrupted by methods of a class, or the first obstacle (reference/karpenter-core.md 4.2,
 * reference/karpenter-1.15.md 4.2).
 */
export function eligibility(one: StateNode, view: DisruptionView, by: DisruptionClass): Eligibility {
  const { node, claim } = one
  if (claim === undefined) return { kind: 'other' }
  const blocked = (cause: Cause): Eligibility => ({
    kind: 'blocked',
    blocked: blockedBy({ nodeClaim: claim, node }, 'DisruptionBlocked', cause),
  })
  const found = nodeBlock(one, view, by)
  if (found !== undefined) return blocked(found)
  const candidate = candidateOf(one, view)
  if ('kind' in candidate) return blocked(candidate)
  const isOverruled = by === 'repair' || (by === 'eventual' && claim.spec.terminationGracePeriod !== undefined)
  const byPod = isOverruled ? undefined : podBlock(candidate.pods, view)
  return byPod === undefined ? { kind: 'candidate', candidate } : blocked(byPod)
}

function nodeBlock({ node, claim }: StateNode, view: DisruptionView, by: DisruptionClass): Cause | undefined {
  if (node === undefined || claim === undefined) return { kind: 'no-node' }
  if (isTrue(claim.status.conditions, 'Rebooting')) return { kind: 'rebooting' }
  if (isMarked(claim, node, view)) return { kind: 'leaving' }
  const own = node.metadata.labels
  const isRegistered = own[labels.registered] === 'true'
  const isInitialized = own[labels.initialized] === 'true'
  if (!isInitialized && (by !== 'repair' || !isRegistered)) return { kind: 'not-initialized', isRegistered }
  if (isInitialized && isNominated(claim, node, view)) return { kind: 'nominated' }
  const hold = holdOf(claim, view.now)
  if (hold !== undefined) return { kind: 'held', hold }
  const { metadata } = isRegistered ? node : claim
  if (by !== 'repair' && metadata.annotations[annotations.doNotDisrupt] === 'true') return { kind: 'do-not-disrupt' }
  if (metadata.labels[labels.nodePool] !== undefined) return undefined
  return { kind: by === 'repair' ? 'repair-needs-node-pool' : 'no-node-pool-label' }
}

function isNominated(claim: NodeClaim, node: Node, { nominated }: DisruptionView): boolean {
  return nominated.has(claim.metadata.name) || nominated.has(node.metadata.name)
}

/** Returns the node as a candidate regardless of its pods, or why it is none. */
function candidateOf(one: StateNode, view: DisruptionView): Candidate | Cause {
  const node = one.node as Node
  const nodeClaim = one.claim as NodeClaim
  const own = labelsOf(one)
  const pool = own[labels.nodePool] as string
  const [nodePool, types] = [view.nodePools.get(pool), view.instanceTypes.get(pool)]
  if (nodePool === undefined || types === undefined || types.length === 0)
    return { kind: 'no-node-pool', nodePool: pool }
  const instanceType = typeNamed(types, own[labels.instanceType])
  const pods = view.podsOn(node.metadata.name)
  const reschedulable = pods.filter(isReschedulable)
  return {
    nodeClaim,
    node,
    nodePool,
    pods,
    reschedulable,
    instanceType,
    price: nodePrice(own, instanceType),
    disruptionCost: rescheduleCost(reschedulable, view.deletionCosts),
  }
}

/** Whether a node is terminating or reserved. */
export function isMarked(claim: NodeClaim, node: Node, { reserved }: Pick<DisruptionView, 'reserved'>): boolean {
  return reserved?.has(claim.metadata.name) === true || isLeaving(claim, node)
}

/** Returns the pod that must not be disrupted now. Daemon and mirror pods count as well. */
export function podBlock(pods: readonly Pod[], { podDisruptionBudgets, now }: DisruptionView): PodBlock | undefined {
  for (const pod of pods)
    if (isActive(pod) && hasDoNotDisrupt(pod, now)) return { kind: 'pod-do-not-disrupt', pod: podName(pod) }
  for (const pod of pods) {
    const blocked = evictionBlockedBy(pod, podDisruptionBudgets, now)
    if (blocked !== undefined) return blocked
  }
  return undefined
}

/** Returns a claim and its Node as blocked. */
export function blockedBy(
  { nodeClaim, node }: Pick<Candidate, 'nodeClaim'> & { readonly node: Node | undefined },
  reason: Blocked['reason'],
  cause: Cause,
): Blocked {
  const nodeName = node?.metadata.name
  return {
    object: { kind: 'NodeClaim', name: nodeClaim.metadata.name, ...(nodeName === undefined ? {} : { nodeName }) },
    reason,
    cause,
  }
}

/** Counts of a pool's nodes for its budgets. */
export interface PoolCount {
  /** Managed nodes that are initialized and not terminating. */
  readonly nodes: number
  /** Names of the NodeClaims among them that use up budgets: not ready, terminating or reserved. */
  readonly disrupted: readonly string[]
}

type BudgetUse = 'none' | 'counted' | 'disrupted'

/**
 * Returns how budgets count each node: not at all, as one of its pool's nodes, or as one that uses them up (reference/karpenter-core.md 4.10,
 * reference/karpenter-1.15.md 4.10). A node and its replacement count as one. Otherwise a rollout's replacements would raise a percentage: 10 % of
 * 100 nodes would be 11. A node that is not ready uses up no budget for its own repair.
 */
export function budgetUses(
  nodes: readonly StateNode[],
  view: Pick<DisruptionView, 'reserved'>,
  reason?: DisruptionReason,
): ReadonlyMap<StateNode, BudgetUse> {
  const replacements = replacementsInUse(nodes.flatMap(({ claim }) => claim ?? []))
  return new Map(
    nodes.map((one) => {
      const use = budgetUse(one, view, reason)
      return [one, use === 'counted' && one.claim !== undefined && replacements.has(one.claim) ? 'none' : use]
    }),
  )
}

function budgetUse(
  { node, claim }: StateNode,
  view: Pick<DisruptionView, 'reserved'>,
  reason: DisruptionReason | undefined,
): BudgetUse {
  if (node === undefined || claim === undefined) return 'none'
  const isRebooting = isTrue(claim.status.conditions, 'Rebooting')
  if (node.metadata.labels[labels.initialized] !== 'true' && !isRebooting) return 'none'
  if (isTrue(claim.status.conditions, 'InstanceTerminating')) return 'none'
  const isLost = reason !== 'Unhealthy' && !isReady(node)
  return isLost || isRebooting || isMarked(claim, node, view) ? 'disrupted' : 'counted'
}

/** Returns what the budgets of each pool count for a reason. */
export function poolCounts(
  view: Pick<DisruptionView, 'nodes' | 'reserved'>,
  reason?: DisruptionReason,
): ReadonlyMap<string, PoolCount> {
  const counts = new Map<string, { nodes: number; disrupted: string[] }>()
  for (const [one, use] of budgetUses(view.nodes, view, reason)) {
    if (use === 'none') continue
    const pool = labelsOf(one)[labels.nodePool] ?? ''
    const count = counts.get(pool) ?? { nodes: 0, disrupted: [] }
    counts.set(pool, count)
    count.nodes += 1
    if (use === 'disrupted') count.disrupted.push(one.claim?.metadata.name ?? '')
  }
  return counts
}
