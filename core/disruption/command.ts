import type { PlannedNodeClaim, SchedulingPlan } from '../scheduling/snapshot.ts'
import type { Candidate } from './candidates.ts'
import type { Score } from './score.ts'

/** Reason for a node's disruption, as budgets and the condition DisruptionReason name it. */
export type DisruptionReason = 'Empty' | 'Drifted' | 'Underutilized'

/** Properties of a method that do not depend on the cluster; workflows and metrics need no more of it. */
export interface MethodFacts {
  readonly reason: DisruptionReason
  /** A graceful method waits for every pod. An eventual one overrules pods of a node that has a terminationGracePeriod. */
  readonly isGraceful: boolean
  /** `delayed`: a command is validated again after a while, in case pods are about to arrive. `immediate`: it is committed at once. */
  readonly validation: 'immediate' | 'delayed'
  /** Whether a command proceeds with the candidates that still hold. Otherwise it is dropped when one does not. */
  readonly holdsInPart: boolean
  /** Value of upstream's metric label. */
  readonly consolidationType: string
}

const drifted = { reason: 'Drifted', isGraceful: false, validation: 'immediate', holdsInPart: false } as const
const underutilized = { reason: 'Underutilized', isGraceful: true, validation: 'delayed', holdsInPart: false } as const

/** The disruption methods, in the order in which they are tried (reference/karpenter-core.md 4.1, 4.9). */
const facts = {
  emptiness: {
    reason: 'Empty',
    isGraceful: true,
    validation: 'delayed',
    holdsInPart: true,
    consolidationType: 'empty',
  },
  'static-drift': { ...drifted, consolidationType: '' },
  drift: { ...drifted, consolidationType: '' },
  'multi-node': { ...underutilized, consolidationType: 'multi' },
  'single-node': { ...underutilized, consolidationType: 'single' },
} as const satisfies Readonly<Record<string, MethodFacts>>

export type DisruptionMethod = keyof typeof facts

export const methodFacts: Readonly<Record<DisruptionMethod, MethodFacts>> = facts

/** All methods, in the order in which they are tried. */
export const methodNames = Object.keys(facts) as readonly DisruptionMethod[] as readonly [
  DisruptionMethod,
  ...DisruptionMethod[],
]

/** `terminate-first` deletes a node that has to make room for its own replacement (reference/karpenter-1.15.md 4.8b). */
export type Decision = 'delete' | 'replace' | 'terminate-first'

/** Nodes to disrupt together, and the replacements that must exist before. */
export interface DisruptionCommand {
  readonly method: DisruptionMethod
  readonly decision: Decision
  readonly candidates: readonly Candidate[]
  readonly replacements: readonly PlannedNodeClaim[]
  /** Prices of the nodes less those of their replacements, in USD an hour; unknown prices count as nothing. */
  readonly savings: number
  /** Where the pods go; unset when nothing was simulated because no pod has to move. */
  readonly plan?: SchedulingPlan
  /** Scores by the pools with the policy Balanced. */
  readonly scores?: readonly Score[]
}

export function reasonOf({ method }: Pick<DisruptionCommand, 'method'>): DisruptionReason {
  return methodFacts[method].reason
}

/** Returns what a command saves: the prices of its candidates less those of its replacements, in USD an hour. */
export function savingsOf(candidates: readonly Candidate[], replacements: readonly PlannedNodeClaim[]): number {
  return candidates.reduce((sum, { price }) => sum + price, 0) - replacements.reduce((sum, { price }) => sum + price, 0)
}
