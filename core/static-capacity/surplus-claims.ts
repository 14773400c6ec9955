import { evictionCost } from '../disruption/costs.ts'
import type { NodeClaim, NodePool, Pod } from '../objects.ts'
import { hasDoNotDisrupt, isDaemonPod } from '../pods/pod-rules.ts'
import { durationMs } from '../values/duration.ts'
import type { PoolCount } from './pool-count.ts'

/** What a removal looks at beside the NodeClaims. */
export interface SurplusFacts {
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
