import type { NodeClaim, NodePool } from '../../objects.ts'
import type { Candidate } from '../candidates.ts'
import type { DisruptionCommand, DisruptionMethod } from '../command.ts'
import type { FilterSettings } from '../filters.ts'
import type { Cause } from '../verdicts/cause.ts'
import type { Move } from '../verdicts/verdict.ts'
import type { MethodContext } from './context.ts'

/** Whether a method takes a candidate; a cause: it does not, and an event says why. */
export type Suitability = boolean | Cause

/** A node of which a method has noted nothing, and what the evaluation knows of it. */
export interface Unnoted {
  readonly claim: NodeClaim
  readonly nodePool: NodePool | undefined
  readonly asked: FilterSettings
  /** Whether emptiness looked at the node. */
  readonly isEmpty: boolean
  /** Whether the method found something to do with other nodes. */
  readonly foundOthers: boolean
}

export type Explanation = Pick<Move, 'outcome' | 'cause'>

/** A way in which disruption looks for something to do (reference/karpenter-core.md 4.1). What is true of it in any cluster is in `methodFacts`. */
export interface Method {
  readonly name: DisruptionMethod
  /** Whether it asks where pods would go: then nothing can be told as long as no NodePool is ready. */
  readonly simulates: boolean
  /** Whether it is about a candidate at all (reference/karpenter-core.md 4.5). */
  readonly suits: (candidate: Candidate, settings: FilterSettings) => Suitability
  /**
   * The commands, each worked out when it is asked for: the evaluation ends where its policy says so. Commands hold together: each sees the
   * cluster as those before it leave it.
   */
  readonly compute: (candidates: readonly Candidate[], context: MethodContext) => Iterable<DisruptionCommand>
  /** The command for just these candidates in the cluster as it is now; undefined: it does not hold any more, which has been noted. */
  readonly revalidate: (candidates: readonly Candidate[], context: MethodContext) => DisruptionCommand | undefined
  /** Why it has noted nothing about a node. */
  readonly explain: (node: Unnoted) => Explanation
}

export function unsuitable(cause: Cause): Explanation {
  return { outcome: 'unsuitable', cause }
}

export function notLookedAt(cause: Cause): Explanation {
  return { outcome: 'not-looked-at', cause }
}

/** The first of the commands. */
export function firstOf(commands: Iterable<DisruptionCommand>): DisruptionCommand | undefined {
  for (const command of commands) return command
  return undefined
}
