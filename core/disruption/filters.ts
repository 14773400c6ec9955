import { isTrue } from '../conditions.ts'
import type { Candidate } from './candidates.ts'
import type { DisruptionReason } from './command.ts'

export interface FilterSettings {
  /** An operator requested it: consolidateAfter is not waited for. */
  readonly forced?: boolean
  /** Scope that an operator requested; everything when unset. */
  readonly scope?: DisruptionScope
  /** Pools and nodes that are left alone for a while because disrupting them failed recently. */
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

/** Names; a node is named by itself or by its NodeClaim. Unset: any. */
export interface DisruptionScope {
  readonly nodePools?: readonly string[]
  readonly nodes?: readonly string[]
}

/** `names`: of a Node and its NodeClaim. */
export function isInScope(nodePool: string, names: readonly string[], scope: DisruptionScope): boolean {
  return scope.nodePools?.includes(nodePool) !== false && scope.nodes?.some((name) => names.includes(name)) !== false
}

/** Whether consolidation may consider a node now: its pods are unchanged for consolidateAfter, or an operator does not wait for that. */
export function isConsolidatable(
  { nodeClaim }: Pick<Candidate, 'nodeClaim'>,
  { forced = false }: FilterSettings,
): boolean {
  return isTrue(nodeClaim.status.conditions, forced ? 'Initialized' : 'Consolidatable')
}
