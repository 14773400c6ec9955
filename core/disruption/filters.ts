import { isTrue } from '../conditions.ts'
import { labels } from '../requirements/labels.ts'
import { durationMs } from '../values/duration.ts'
import { type Blocked, blockedBy, type Candidate, isEmpty } from './candidates.ts'
import type { DisruptionMethod, DisruptionReason } from './command.ts'

/** Whether a method takes a candidate; a text: it does not, and its owner is told why. */
export type Suitability = boolean | string

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

/** Whether a method is about a candidate at all (reference/karpenter-core.md 4.5). */
export function suits(method: DisruptionMethod, candidate: Candidate, settings: FilterSettings = {}): Suitability {
  const { nodePool, nodeClaim } = candidate
  if (method === 'static-drift' || method === 'drift')
    return nodePool.isStatic === (method === 'static-drift') && isTrue(nodeClaim.status.conditions, 'Drifted')
  if (nodePool.isStatic) return false
  return method === 'emptiness' ? suitsEmptiness(candidate, settings) : suitsConsolidation(candidate, settings)
}

/** The event that tells of a candidate's unsuitability. */
export function unsuitable({ nodeClaim, node }: Candidate, message: string): Blocked {
  return blockedBy(nodeClaim, node, 'Unconsolidatable', message)
}

function suitsEmptiness(candidate: Candidate, settings: FilterSettings): Suitability {
  const { nodePool } = candidate
  if (durationMs(nodePool.disruption.consolidateAfter) === undefined) return isDisabled(candidate)
  return isEmpty(candidate) && isConsolidatable(candidate, settings)
}

function suitsConsolidation(candidate: Candidate, settings: FilterSettings): Suitability {
  const { node, nodePool, instanceType } = candidate
  const own = node.metadata.labels
  if (instanceType === undefined) return `Instance Type "${own[labels.instanceType] ?? ''}" not found`
  for (const key of [labels.capacityType, labels.zone])
    if (own[key] === undefined) return `Node does not have label "${key}"`
  if (durationMs(nodePool.disruption.consolidateAfter) === undefined) return isDisabled(candidate)
  // Emptiness takes those, so that budgets for the reason Empty hold for them.
  if (isEmpty(candidate)) return false
  if (nodePool.disruption.consolidationPolicy === 'WhenEmpty')
    return `NodePool "${nodePool.metadata.name}" has consolidation policy WhenEmpty, but node is not empty`
  return isConsolidatable(candidate, settings)
}

function isDisabled({ nodePool }: Candidate): string {
  return `NodePool "${nodePool.metadata.name}" has consolidation disabled`
}

/** Whether consolidation may look at a node by now: nothing has come or gone for consolidateAfter, or an operator does not wait for that. */
export function isConsolidatable(
  { nodeClaim }: Pick<Candidate, 'nodeClaim'>,
  { forced = false }: FilterSettings,
): boolean {
  return isTrue(nodeClaim.status.conditions, forced ? 'Initialized' : 'Consolidatable')
}
