import { conditionOf } from '../conditions.ts'
import type { NodeClaim, NodePool } from '../objects.ts'
import { durationMs } from '../values/duration.ts'

/**
 * Returns when a node has been unchanged for its pool's consolidateAfter, in epoch ms; it is consolidatable from this moment on. Undefined when
 * consolidation is disabled, the pool is static or the node is not initialized. The policy does not matter (reference/karpenter-core.md 3.16, 4.4).
 */
export function consolidatableAt(claim: NodeClaim, pool: NodePool): number | undefined {
  const wait = durationMs(pool.disruption.consolidateAfter)
  const initialized = conditionOf(claim.status.conditions, 'Initialized')
  if (wait === undefined || pool.isStatic || initialized?.status !== 'True') return undefined
  const since = claim.status.lastPodEventTime ?? initialized.lastTransitionTime ?? claim.metadata.creationTimestamp
  return Date.parse(since) + wait
}

/** Returns whether a claim has the condition `Consolidatable` at `now` (epoch ms). */
export function isConsolidatable(claim: NodeClaim, pool: NodePool, now: number): boolean {
  const at = consolidatableAt(claim, pool)
  return at !== undefined && at <= now
}
