import type { SchedulingOptions } from '../../scheduling/snapshot.ts'
import type { BalancedPolicy } from '../balanced.ts'
import type { PoolBudget } from '../budgets/pool-budgets.ts'
import type { Blocked, Candidate, DisruptionView } from '../candidates.ts'
import type { Decision } from '../command.ts'
import type { ConsolidationSettings } from '../consolidation.ts'
import type { ImageTrial } from '../image-trial.ts'
import type { DisruptionPolicy } from '../policy.ts'
import type { Score } from '../score.ts'
import type { Simulator } from '../simulation.ts'
import type { Cause } from '../verdicts/cause.ts'

/** The methods whose nodes may go before their replacement: gates TerminateFirstDrift and TerminateFirstRepair. */
export interface TerminateFirst {
  readonly drift: boolean
  readonly repair: boolean
}

/** Both gates are off, which is their default. */
export const neverFirst: TerminateFirst = { drift: false, repair: false }

export interface MethodSettings extends ConsolidationSettings {
  readonly policy: DisruptionPolicy
  /** How pods are placed. */
  readonly scheduling: SchedulingOptions
  /** Where a node may go before its replacement, if it takes up the only capacity for it. */
  readonly terminateFirst: TerminateFirst
  /** Trials of new node images, by AKSNodeClass. Unset: none. */
  readonly imageTrials?: ReadonlyMap<string, ImageTrial>
}

/** Context of a method. After each command that a method yields, `view` and `simulator` are the cluster as the command leaves it. */
export interface MethodContext {
  readonly view: DisruptionView
  /** Simulates the cluster after all commands decided so far. */
  readonly simulator: Simulator
  readonly settings: MethodSettings
  readonly balanced: BalancedPolicy
  /** The pools' budgets when the method started. */
  readonly poolBudgets: ReadonlyMap<string, PoolBudget>
  /** How many nodes of each pool may still be disrupted; methods subtract what they use. */
  readonly budgets: Map<string, number>
  /** Called for each candidate that a method considered, in order. */
  readonly note: (note: Note) => void
}

/** Result for one candidate. */
export interface Note {
  readonly candidate: Candidate
  readonly outcome: 'chosen' | 'hindered' | 'budget' | 'rejected'
  readonly cause: Cause
  readonly decision?: Decision
  /** Scores by the pools with the policy Balanced; unset when they were not computed. */
  readonly scores?: readonly Score[]
  /** The event that reports it. */
  readonly event?: Blocked['reason']
}

export const poolOf = ({ nodePool }: Candidate) => nodePool.metadata.name

/** Whether the candidate's budget has room for one more node. */
export function hasBudget({ budgets }: Pick<MethodContext, 'budgets'>, candidate: Candidate): boolean {
  return (budgets.get(poolOf(candidate)) ?? 0) > 0
}

/** Whether the candidate's budget has room for one more node, which is then subtracted. */
export function takeBudget(context: Pick<MethodContext, 'budgets'>, candidate: Candidate): boolean {
  if (!hasBudget(context, candidate)) return false
  const { budgets } = context
  budgets.set(poolOf(candidate), (budgets.get(poolOf(candidate)) ?? 0) - 1)
  return true
}

/** Sorts candidates for consolidation: most savings for the least disruption first, then by name, so that the order is fixed. */
export function bySavings(candidates: readonly Candidate[]): readonly Candidate[] {
  return candidates
    .map((candidate) => ({ candidate, ratio: candidate.price / candidate.disruptionCost }))
    .sort((a, b) => b.ratio - a.ratio || compareNames(a.candidate, b.candidate))
    .map(({ candidate }) => candidate)
}

function compareNames({ node: a }: Candidate, { node: b }: Candidate): number {
  return a.metadata.name < b.metadata.name ? -1 : a.metadata.name > b.metadata.name ? 1 : 0
}

/** AKSNodeClasses whose trial of an image began in this evaluation, and those of which an event says that nodes wait for it. */
export interface TrialsSeen {
  readonly begun: Set<string>
  readonly reported: Set<string>
}

/**
 * Whether a candidate has to wait until a first node with a new image of its AKSNodeClass has initialized, which is noted. One event of a class is enough:
 * all of its nodes wait for the same.
 */
export function waitsForTrial(context: MethodContext, candidate: Candidate, { begun, reported }: TrialsSeen): boolean {
  const { name: nodeClass } = candidate.nodePool.template.spec.nodeClassRef
  const trial = context.settings.imageTrials?.get(nodeClass)
  if (trial === undefined || (trial === 'untried' && !begun.has(nodeClass))) return false
  context.note({
    candidate,
    outcome: 'hindered',
    cause: { kind: 'image-on-trial', nodeClass },
    ...(reported.has(nodeClass) ? {} : { event: 'DisruptionBlocked' as const }),
  })
  reported.add(nodeClass)
  return true
}

export function noteBudget(context: MethodContext, candidate: Candidate): void {
  context.note({ candidate, outcome: 'budget', cause: { kind: 'budget', nodePool: poolOf(candidate) } })
}
