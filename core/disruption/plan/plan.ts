import {
  type CommandTerms,
  type DisruptionMethod,
  type DisruptionReason,
  methodFacts,
  methodNames,
} from '../command.ts'
import type { DisruptionScope } from '../filters.ts'
import type { Move } from '../verdicts/verdict.ts'

/** Options of a plan, or of disruption that is requested at once. */
export interface PlanOptions extends DisruptionScope {
  /** All when unset. */
  readonly reasons?: readonly DisruptionReason[]
  /** Most nodes of each pool; the pools' budgets apply as well. */
  readonly budget?: number
  /** Whether consolidateAfter is not waited for. */
  readonly now?: boolean
}

/** A pod that needs another place, and its new place. Both are unset when moving it costs nothing and was not simulated. */
interface PlannedMove {
  /** `namespace/name`. */
  readonly pod: string
  readonly uid: string
  /** Name of the Node, or of the NodeClaim without a Node. */
  readonly node?: string
  /** Number of the plan's new node. */
  readonly newNode?: number
}

/** A node that is removed. Prices in USD an hour; 0 when unknown. */
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

/** A node that is added. */
export interface PlannedReplacement {
  /** Counted through the whole plan, from 1. */
  readonly number: number
  readonly nodePool: string
  /** Cheapest first; `otherTypes` more are left out. */
  readonly instanceTypes: readonly string[]
  readonly otherTypes: number
  readonly capacityTypes: readonly string[]
  readonly zones: readonly string[]
  /** The lowest possible price, in USD an hour. */
  readonly price: number
  readonly pods: number
}

export interface PlannedDisruption extends Omit<CommandTerms, 'repair'> {
  readonly reason: DisruptionReason
  readonly candidates: readonly PlannedCandidate[]
  readonly replacements: readonly PlannedReplacement[]
}

/** A node that is not part of the plan. */
export interface PlanBlocker {
  readonly nodeClaim: string
  readonly node?: string
  readonly nodePool: string
  /** USD an hour; 0 when unknown. */
  readonly price: number
  /** What keeps it: each possible move, with the pods, constraints, PodDisruptionBudgets, budgets or pauses that prevent it. */
  readonly moves: readonly Move[]
  /** Upper bound of the savings that this prevents, in USD an hour. */
  readonly forgone: number
  /** RFC 3339 end of the protection by its NodePool's consolidateAfter. A plan with `now` does not wait for it. */
  readonly waitsUntil?: string
}

/** A pool's budget that the plan exhausts. */
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

/** What disruption would do at one moment. It holds enough to check later whether it would still do the same. */
export interface DisruptionPlan {
  readonly version: 1
  readonly id: string
  readonly cluster: string
  /** RFC 3339. */
  readonly createdAt: string
  readonly by?: string
  readonly options: PlanOptions
  /** In the order of decision: each sees the cluster as the earlier ones leave it. */
  readonly commands: readonly PlannedDisruption[]
  /** Pools that commands take nodes from or add nodes to, as they were when planned. */
  readonly nodePools: readonly { readonly name: string; readonly uid: string; readonly generation: number }[]
  readonly cost: {
    /** Cost of the removed and the added nodes. */
    readonly nodes: Cost
    readonly cluster: Cost
    /** Nodes of the cluster with an unknown price; they count as free. */
    readonly unpriced: number
  }
  readonly blockers: readonly PlanBlocker[]
  readonly budgets: readonly PlanBudget[]
  /** Pauses in force, in words. */
  readonly pauses: readonly string[]
  /** Problems of the options, such as a node that does not exist. */
  readonly warnings: readonly string[]
  /** Items found that have no room in the plan, which cannot be applied then. */
  readonly leftOut?: { readonly commands: number; readonly blockers: number }
}

/** Returns the methods of the requested reasons, of all by default. A sick node is repaired when that is due, and waits for no plan. */
export function methodsFor({ reasons }: PlanOptions): readonly DisruptionMethod[] {
  const isAsked = (method: DisruptionMethod) => reasons?.includes(methodFacts[method].reason) ?? true
  return methodNames.filter((method) => methodFacts[method].reason !== 'Unhealthy' && isAsked(method))
}

/** Returns the part of the options that names nodes; undefined: all. */
export function scopeFor({ nodePools, nodes }: PlanOptions): DisruptionScope | undefined {
  if (nodePools === undefined && nodes === undefined) return undefined
  return { ...(nodePools === undefined ? {} : { nodePools }), ...(nodes === undefined ? {} : { nodes }) }
}
