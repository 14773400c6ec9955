import type { PlannedNodeClaim, SchedulingPlan } from '../scheduling/snapshot.ts'
import type { Score } from './balanced.ts'
import type { Candidate } from './candidates.ts'

/** Why a node is disrupted, as budgets and the condition DisruptionReason name it. */
export type DisruptionReason = 'Empty' | 'Drifted' | 'Underutilized'

/** The ways in which disruption looks for something to do, in the order in which they are tried (reference/karpenter-core.md 4.1). */
export type DisruptionMethod = 'emptiness' | 'static-drift' | 'drift' | 'multi-node' | 'single-node'

/** What metrics call a method (reference/karpenter-core.md 4.1). */
type ConsolidationType = 'empty' | 'multi' | 'single' | ''

interface MethodFacts {
  readonly reason: DisruptionReason
  /** A graceful method waits for every pod; an eventual one overrules pods of a node that has a terminationGracePeriod. */
  readonly isGraceful: boolean
  readonly consolidationType: ConsolidationType
}

export const methodFacts: Readonly<Record<DisruptionMethod, MethodFacts>> = {
  emptiness: { reason: 'Empty', isGraceful: true, consolidationType: 'empty' },
  'static-drift': { reason: 'Drifted', isGraceful: false, consolidationType: '' },
  drift: { reason: 'Drifted', isGraceful: false, consolidationType: '' },
  'multi-node': { reason: 'Underutilized', isGraceful: true, consolidationType: 'multi' },
  'single-node': { reason: 'Underutilized', isGraceful: true, consolidationType: 'single' },
}

/** `terminate-first` deletes a node that has to make room for its own replacement (reference/karpenter-1.15.md 4.8b). */
export type Decision = 'delete' | 'replace' | 'terminate-first'

/** Nodes to disrupt together, and what has to be there before. */
export interface DisruptionCommand {
  readonly method: DisruptionMethod
  readonly decision: Decision
  readonly candidates: readonly Candidate[]
  readonly replacements: readonly PlannedNodeClaim[]
  /** What the nodes cost less what their replacements do, in USD an hour; unknown prices count as nothing. */
  readonly savings: number
  /** Where the pods go; absent where nothing was simulated because no pod has to move. */
  readonly plan?: SchedulingPlan
  /** How the pools with the policy Balanced see it. */
  readonly scores?: readonly Score[]
}

export function reasonOf({ method }: Pick<DisruptionCommand, 'method'>): DisruptionReason {
  return methodFacts[method].reason
}

/** What a command costs and saves: the prices of its candidates less those of its replacements, in USD an hour. */
export function savingsOf(candidates: readonly Candidate[], replacements: readonly PlannedNodeClaim[]): number {
  return candidates.reduce((sum, { price }) => sum + price, 0) - replacements.reduce((sum, { price }) => sum + price, 0)
}
