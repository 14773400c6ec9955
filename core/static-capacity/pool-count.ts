import { isTrue } from '../conditions.ts'
import { evictionCost } from '../disruption/costs.ts'
import type { NodeClaim, NodePool, Pod } from '../objects.ts'
import { hasDoNotDisrupt, isDaemonPod } from '../pods/pod-rules.ts'
import { labels } from '../requirements/labels.ts'
import { durationMs } from '../values/duration.ts'

/** NodeClaims of a static pool and what becomes of them (reference/karpenter-core.md 3.16). */
export interface PoolCount {
  readonly active: readonly NodeClaim[]
  /** They wait for their replacement, and are deleted then. */
  readonly pendingDisruption: readonly NodeClaim[]
  readonly deleting: readonly NodeClaim[]
}

/** What the cluster does not say of NodeClaims, by their names. */
export interface StaticMarks {
  /** Their deletion has begun without being visible yet. */
  readonly markedForDeletion: ReadonlySet<string>
  readonly pendingDisruption: ReadonlySet<string>
}

export function countPool(pool: NodePool, claims: Iterable<NodeClaim>, marks: StaticMarks): PoolCount {
  const active: NodeClaim[] = []
  const pendingDisruption: NodeClaim[] = []
  const deleting: NodeClaim[] = []
  for (const claim of claims) {
    const { name, labels: own } = claim.metadata
    if (own[labels.nodePool] !== pool.metadata.name) continue
    if (isLeaving(claim) || marks.markedForDeletion.has(name)) deleting.push(claim)
    else if (marks.pendingDisruption.has(name)) pendingDisruption.push(claim)
    else active.push(claim)
  }
  return { active, pendingDisruption, deleting }
}

function isLeaving({ metadata, status }: NodeClaim): boolean {
  return metadata.deletionTimestamp !== undefined || isTrue(status.conditions, 'InstanceTerminating')
}

/** Returns how many more NodeClaims `limits.nodes` lets a pool have. A fraction counts as a whole node. */
function roomUnderLimit({ limits }: NodePool, count: PoolCount, reserved = 0): number {
  const limit = limits['nodes']
  if (limit === undefined) return Number.POSITIVE_INFINITY
  const most = Number((limit.nano + 999_999_999n) / 1_000_000_000n)
  return Math.max(0, most - count.active.length - count.pendingDisruption.length - count.deleting.length - reserved)
}

/** Whether a pool says that nothing can be launched from it. One that is new says nothing yet. */
export function isUnready({ conditions }: Pick<NodePool, 'conditions'>): boolean {
  return conditions.length > 0 && !isTrue(conditions, 'Ready')
}

/** Returns how many NodeClaims a static pool lacks: up to its replicas, as far as `limits.nodes` allows (reference/karpenter-core.md 3.16). */
export function missingClaims(pool: NodePool, count: PoolCount, reserved = 0): number {
  const { replicas = 0, metadata } = pool
  if (!pool.isStatic || metadata.deletionTimestamp !== undefined || isUnready(pool)) return 0
  const { active, pendingDisruption } = count
  if (active.length + pendingDisruption.length >= replicas) return 0
  return Math.min(replicas - active.length, roomUnderLimit(pool, count, reserved))
}

/** What a removal looks at beside the NodeClaims. */
interface SurplusFacts {
  /** Epoch ms. */
  readonly now: number
  /** All pods that are bound to a claim's Node, finished ones too. */
  readonly podsOf: (claim: NodeClaim) => readonly Pod[]
  /** Whether `controller.kubernetes.io/pod-deletion-cost` counts. */
  readonly deletionCosts?: boolean
  /** Whether a claim stays, whatever else there is. */
  readonly isKept?: (claim: NodeClaim) => boolean
}

/**
 * Returns the NodeClaims that a static pool has too many, those that cost the least first: claims without a VM, empty nodes, then by the cost of
 * moving their pods; nodes with a pod that must not be disrupted come last (reference/karpenter-core.md 3.16).
 */
export function surplusClaims(pool: NodePool, count: PoolCount, facts: SurplusFacts): readonly NodeClaim[] {
  const surplus = count.active.length - (pool.replicas ?? 0)
  if (!pool.isStatic || pool.metadata.deletionTimestamp !== undefined || surplus <= 0) return []
  return [...count.active, ...count.pendingDisruption]
    .filter((claim) => facts.isKept?.(claim) !== true)
    .map((claim) => ({ claim, rank: rankOf(claim, facts) }))
    .sort((a, b) => compareRanks(a.rank, b.rank) || (a.claim.metadata.name < b.claim.metadata.name ? -1 : 1))
    .slice(0, surplus)
    .map(({ claim }) => claim)
}

/** Group, and cost within it. */
type Rank = readonly [group: number, cost: number]

function rankOf(claim: NodeClaim, facts: SurplusFacts): Rank {
  if (claim.status.providerId === undefined) return [0, 0]
  const pods = facts.podsOf(claim)
  const isHeld = pods.some((pod) => hasDoNotDisrupt(pod, facts.now))
  if (!isHeld && pods.every((pod) => isDaemonPod(pod))) return [1, 0]
  const cost = pods.reduce((sum, pod) => sum + evictionCost(pod, facts.deletionCosts), 0)
  return [isHeld ? 3 : 2, cost * remainingLife(claim, facts.now)]
}

function compareRanks([a, costA]: Rank, [b, costB]: Rank): number {
  return a === b ? costA - costB : a - b
}

/** The share of a claim's life that is left, from 1 to 0; 1 for a claim that never expires. */
function remainingLife({ spec, metadata }: NodeClaim, now: number): number {
  const lifetime = durationMs(spec.expireAfter)
  if (lifetime === undefined) return 1
  const age = now - Date.parse(metadata.creationTimestamp)
  return Math.min(1, Math.max(0, 1 - age / lifetime))
}
