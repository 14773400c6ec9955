import { isTrue } from '../conditions.ts'
import type { NodeClaim, NodePool } from '../objects.ts'
import { labels } from '../requirements/labels.ts'

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
export function roomUnderLimit({ limits }: NodePool, count: PoolCount, reserved = 0): number {
  const limit = limits['nodes']
  if (limit === undefined) return Number.POSITIVE_INFINITY
  const most = Number((limit.nano + 999_999_999n) / 1_000_000_000n)
  return Math.max(0, most - count.active.length - count.pendingDisruption.length - count.deleting.length - reserved)
}
