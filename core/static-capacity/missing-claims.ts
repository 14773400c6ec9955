import { conditionOf } from '../conditions.ts'
import type { NodePool } from '../objects.ts'
import { type PoolCount, roomUnderLimit } from './pool-count.ts'

/** Returns how many NodeClaims a static pool lacks: up to its replicas, as far as `limits.nodes` allows (reference/karpenter-core.md 3.16). */
export function missingClaims(pool: NodePool, count: PoolCount, reserved = 0): number {
  const { replicas = 0, metadata, conditions } = pool
  const ready = conditionOf(conditions, 'Ready')
  if (!pool.isStatic || metadata.deletionTimestamp !== undefined) return 0
  if (conditions.length > 0 && ready?.status !== 'True') return 0
  const { active, pendingDisruption } = count
  if (active.length + pendingDisruption.length >= replicas) return 0
  return Math.min(replicas - active.length, roomUnderLimit(pool, count, reserved))
}
