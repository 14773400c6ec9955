import { type Blocked, type DisruptionView, poolCounts } from '../candidates.ts'
import type { DisruptionReason } from '../command.ts'
import { allowedDisruptions } from './budgets.ts'

/** A pool's budgets for one reason at one moment. */
export interface PoolBudget {
  readonly nodes: number
  /** What its budgets allow, before nodes that are already disrupted are subtracted. */
  readonly allowed: number
  readonly disrupted: readonly string[]
  readonly remaining: number
  /** Whether a schedule or a number cannot be read, so that nothing is allowed. */
  readonly invalid: boolean
}

/** Returns how many nodes of each pool may still be disrupted (reference/karpenter-core.md 4.10). */
export function remainingBudgets(view: DisruptionView, reason: DisruptionReason): ReadonlyMap<string, PoolBudget> {
  const counts = poolCounts(view, reason)
  return new Map(
    [...view.nodePools].map(([name, pool]) => {
      const { nodes, disrupted } = counts.get(name) ?? { nodes: 0, disrupted: [] }
      const { budgets } = pool.disruption
      const { allowed, invalid } = allowedDisruptions({ budgets, nodes, reason, now: view.now })
      return [name, { nodes, allowed, disrupted, invalid, remaining: Math.max(0, allowed - disrupted.length) }]
    }),
  )
}

/** Returns the pools with nodes of which none may be disrupted. */
export function blockedPools(budgets: ReadonlyMap<string, PoolBudget>, reason: DisruptionReason): readonly Blocked[] {
  return [...budgets]
    .filter(([, { nodes, allowed }]) => nodes > 0 && allowed === 0)
    .map(([name]) => ({
      object: { kind: 'NodePool', name },
      reason: 'DisruptionBlocked',
      cause: { kind: 'no-disruptions-allowed', reason },
    }))
}
