import type { RepairAction } from '../node-repair/repair-policy.ts'
import type { PlannedNodeClaim, SchedulingPlan } from '../scheduling/snapshot.ts'
import type { Candidate } from './candidates.ts'
import type { DisruptionClass, DisruptionReason } from './disruption-class.ts'
import type { Score } from './score.ts'

export type { DisruptionReason } from './disruption-class.ts'

/** Properties of a method that do not depend on the cluster; workflows and metrics need no more of it. */
export interface MethodFacts {
  readonly reason: DisruptionReason
  readonly disruptionClass: DisruptionClass
  /** `delayed`: a command is validated again after a while, in case pods are about to arrive. `immediate`: it is committed at once. */
  readonly validation: 'immediate' | 'delayed'
  /** Whether a command proceeds with the candidates that still hold. Otherwise it is dropped when one does not. */
  readonly holdsInPart: boolean
  /** Value of upstream's metric label. */
  readonly consolidationType: string
}

const drifted = {
  reason: 'Drifted',
  disruptionClass: 'eventual',
  validation: 'immediate',
  holdsInPart: false,
} as const
const underutilized = {
  reason: 'Underutilized',
  disruptionClass: 'graceful',
  validation: 'delayed',
  holdsInPart: false,
} as const

/** The disruption methods, in the order in which they are tried (reference/karpenter-core.md 4.1, 4.9). */
const facts = {
  repair: {
    reason: 'Unhealthy',
    disruptionClass: 'repair',
    validation: 'immediate',
    holdsInPart: false,
    consolidationType: '',
  },
  emptiness: {
    reason: 'Empty',
    disruptionClass: 'graceful',
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

/**
 * `terminate-first` deletes a node that has to make room for its own replacement, `reboot` restarts its VM (reference/karpenter-1.15.md 4.8a, 4.8b).
 */
export type Decision = 'delete' | 'replace' | 'terminate-first' | 'reboot'

/** The repair that a command carries out. */
export interface CommandRepair {
  /** Type and reason of the Node's condition. */
  readonly condition: string
  readonly why: string
  readonly action: RepairAction
  /** Longest time that pods have to leave, in milliseconds; unset: as long as they need. */
  readonly boundMs?: number
}

/** What a command is, from its evaluation to its end. */
export interface CommandTerms {
  readonly method: DisruptionMethod
  readonly decision: Decision
  /** Prices of the nodes less those of their replacements, in USD an hour; unknown prices count as nothing. */
  readonly savings: number
  /** Set for the method repair. */
  readonly repair?: CommandRepair
}

/** Nodes to disrupt together, and the replacements that must exist before. */
export interface DisruptionCommand extends CommandTerms {
  readonly candidates: readonly Candidate[]
  readonly replacements: readonly PlannedNodeClaim[]
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
