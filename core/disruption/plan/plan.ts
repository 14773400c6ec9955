import { type Decision, type DisruptionMethod, type DisruptionReason, methodFacts, methodNames } from '../command.ts'
import type { DisruptionScope } from '../filters.ts'
import type { Move } from '../verdicts/verdict.ts'

/** What an operator asks to be planned, or done at once. */
export interface PlanOptions extends DisruptionScope {
  /** Absent: all. */
  readonly reasons?: readonly DisruptionReason[]
  /** Most nodes of each pool; budgets of the pools hold beside it. */
  readonly budget?: number
  /** Whether consolidateAfter is not waited for. */
  readonly now?: boolean
}

/** A pod that needs another place, and where it would find one; with neither, moving it costs nothing and nobody looked. */
interface PlannedMove {
  /** `namespace/name`. */
  readonly pod: string
  readonly uid: string
  /** Name of the Node, or of the NodeClaim that has none yet. */
  readonly node?: string
  /** Number of the plan's new node. */
  readonly newNode?: number
}

/** A node that goes. Prices in USD an hour; 0: not known. */
export interface PlannedCandidate {
  readonly nodeClaim: string
  readonly uid: string
  readonly node: string
  readonly nodePool: string
  readonly instanceType: string
  readonly capacityType: string
  readonly zone: string
  readonly price: number
  readonly pods: readonly PlannedMove[]
}

/** A node that comes. */
export interface PlannedReplacement {
  /** Counted through the whole plan, from 1. */
  readonly number: number
  readonly nodePool: string
  /** Cheapest first; `otherTypes` more are left out. */
  readonly instanceTypes: readonly string[]
  readonly otherTypes: number
  readonly capacityTypes: readonly string[]
  readonly zones: readonly string[]
  /** The least that it can cost, in USD an hour. */
  readonly price: number
  readonly pods: number
}

export interface PlannedDisruption {
  readonly method: DisruptionMethod
  readonly reason: DisruptionReason
  readonly decision: Decision
  readonly candidates: readonly PlannedCandidate[]
  readonly replacements: readonly PlannedReplacement[]
  /** USD an hour. */
  readonly savings: number
}

/** A node that is not part of the plan. */
export interface PlanBlocker {
  readonly nodeClaim: string
  readonly node?: string
  readonly nodePool: string
  /** USD an hour; 0: not known. */
  readonly price: number
  /** What keeps it: each thing that could have been done, with the pods, constraints, PodDisruptionBudgets, budgets or pauses in its way. */
  readonly moves: readonly Move[]
  /** At most so much is not saved because of that, in USD an hour. */
  readonly forgone: number
  /** RFC 3339: until when its NodePool's consolidateAfter leaves it alone, which a plan with `now` does not wait for. */
  readonly waitsUntil?: string
}

/** A pool's budget that allows no more than the plan takes. */
export interface PlanBudget {
  readonly nodePool: string
  readonly reason: DisruptionReason
  readonly nodes: number
  /** What the pool's budgets allow at once. */
  readonly allowed: number
  /** Nodes that used it up before the plan. */
  readonly disrupted: number
}

interface Cost {
  /** USD an hour. */
  readonly before: number
  readonly after: number
}

/** What disruption would do at one moment. It holds what is needed to see later whether it would still do the same. */
export interface DisruptionPlan {
  readonly version: 1
  readonly id: string
  readonly cluster: string
  /** RFC 3339. */
  readonly createdAt: string
  readonly by?: string
  readonly options: PlanOptions
  /** In the order in which they are decided: each sees the cluster as those before it leave it. */
  readonly commands: readonly PlannedDisruption[]
  /** Pools that commands take nodes from or add nodes to, as they were. */
  readonly nodePools: readonly { readonly name: string; readonly uid: string; readonly generation: number }[]
  readonly cost: {
    /** Of the nodes that go and come. */
    readonly nodes: Cost
    readonly cluster: Cost
    /** Nodes of the cluster whose price is not known; they count as nothing. */
    readonly unpriced: number
  }
  readonly blockers: readonly PlanBlocker[]
  readonly budgets: readonly PlanBudget[]
  /** Pauses in force, in words. */
  readonly pauses: readonly string[]
  /** What is odd about the options, such as a node that does not exist. */
  readonly warnings: readonly string[]
  /** What was found and has no room in the plan: it cannot be applied. */
  readonly leftOut?: { readonly commands: number; readonly blockers: number }
}

/** The methods of the reasons that are asked for; undefined: all. */
export function methodsFor({ reasons }: PlanOptions): readonly DisruptionMethod[] | undefined {
  return reasons && methodNames.filter((method) => reasons.includes(methodFacts[method].reason))
}

/** The part of the options that names nodes; undefined: all. */
export function scopeFor({ nodePools, nodes }: PlanOptions): DisruptionScope | undefined {
  if (nodePools === undefined && nodes === undefined) return undefined
  return { ...(nodePools === undefined ? {} : { nodePools }), ...(nodes === undefined ? {} : { nodes }) }
}
