import type { NodeClaim, NodePool } from '../../objects.ts'
import type { StateNode } from '../../scheduling/state-nodes.ts'
import type { Candidate, DisruptionView } from '../candidates.ts'
import type { DisruptionCommand, DisruptionMethod } from '../command.ts'
import type { FilterSettings } from '../filters.ts'
import type { Cause } from '../verdicts/cause.ts'
import type { Move } from '../verdicts/verdict.ts'
import type { MethodContext } from './context.ts'

/** Whether a method takes a candidate. A cause: it does not, and an event reports why. */
export type Suitability = boolean | Cause

/** A node for which a method recorded nothing, and the evaluation's facts about it. */
export interface Unnoted {
  readonly claim: NodeClaim
  readonly nodePool: NodePool | undefined
  readonly asked: FilterSettings
  /** Whether emptiness considered the node. */
  readonly isEmpty: boolean
  /** Whether the method found commands for other nodes. */
  readonly foundOthers: boolean
}

export type Explanation = Pick<Move, 'outcome' | 'cause'>

/** A disruption method (reference/karpenter-core.md 4.1). Its properties that do not depend on the cluster are in `methodFacts`. */
export interface Method {
  readonly name: DisruptionMethod
  /** Whether it simulates where pods would go. It has no answer while no NodePool is ready. */
  readonly simulates: boolean
  /** Whether the method is in use, which the cluster's settings decide. Unset: always. */
  readonly isOn?: (view: DisruptionView) => boolean
  /** Whether the method looks at a node at all: nothing is reported about others. Unset: at each. */
  readonly concerns?: (one: StateNode, view: DisruptionView) => boolean
  /** Whether the method applies to a candidate (reference/karpenter-core.md 4.5). */
  readonly suits: (
    candidate: Candidate,
    settings: FilterSettings,
    view: Pick<DisruptionView, 'buffersOn'>,
  ) => Suitability
  /**
   * Yields the commands, each computed on demand: the evaluation ends where its policy says so. Commands hold together: each sees the cluster as the
   * earlier ones leave it.
   */
  readonly compute: (candidates: readonly Candidate[], context: MethodContext) => Iterable<DisruptionCommand>
  /** Returns the command for exactly these candidates in the present cluster; undefined when it no longer holds, which is recorded. */
  readonly revalidate: (candidates: readonly Candidate[], context: MethodContext) => DisruptionCommand | undefined
  /** Returns why the method recorded nothing about a node. */
  readonly explain: (node: Unnoted) => Explanation
}

export function unsuitable(cause: Cause): Explanation {
  return { outcome: 'unsuitable', cause }
}

export function notLookedAt(cause: Cause): Explanation {
  return { outcome: 'not-looked-at', cause }
}

/** Returns the first of the commands. */
export function firstOf(commands: Iterable<DisruptionCommand>): DisruptionCommand | undefined {
  for (const command of commands) return command
  return undefined
}
