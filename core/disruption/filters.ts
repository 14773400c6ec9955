import { isTrue } from '../conditions.ts'
import type { Candidate } from './candidates.ts'
import type { DisruptionReason } from './command.ts'

export interface FilterSettings {
  /** An operator asked for it: consolidateAfter is not waited for. */
  readonly forced?: boolean
  /** What an operator asked for it to be about; absent: everything. */
  readonly scope?: DisruptionScope
  /** What is left alone for a while because disrupting it failed a moment ago. */
  readonly resting?: Resting
}

/** Names: of NodePools by disruption reason, and of single NodeClaims. */
export interface Resting {
  readonly nodePools: Readonly<Partial<Record<DisruptionReason, readonly string[]>>>
  readonly nodeClaims: readonly string[]
}

export function isResting(
  { nodePool, nodeClaim }: Pick<Candidate, 'nodePool' | 'nodeClaim'>,
  reason: DisruptionReason,
  { nodePools, nodeClaims }: Resting,
): boolean {
  return nodePools[reason]?.includes(nodePool.metadata.name) === true || nodeClaims.includes(nodeClaim.metadata.name)
}

/** Names; a node goes by its own or by that of its NodeClaim. Absent: any. */
export interface DisruptionScope {
  readonly nodePools?: readonly string[]
  readonly nodes?: readonly string[]
}

/** `names`: of a Node and its NodeClaim. */
export function isInScope(nodePool: string, names: readonly string[], scope: DisruptionScope): boolean {
  return scope.nodePools?.includes(nodePool) !== false && scope.nodes?.some((name) => names.includes(name)) !== false
}

/** Whether consolidation may look at a node by now: nothing has come or gone for consolidateAfter, or an operator does not wait for that. */
export function isConsolidatable(
  { nodeClaim }: Pick<Candidate, 'nodeClaim'>,
  { forced = false }: FilterSettings,
): boolean {
  return isTrue(nodeClaim.status.conditions, forced ? 'Initialized' : 'Consolidatable')
}
