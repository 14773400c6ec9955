import type { DisruptionView } from '../../../../core/disruption/candidates.ts'
import { type Evaluation, evaluate } from '../../../../core/disruption/evaluate.ts'
import { neverFirst } from '../../../../core/disruption/methods/context.ts'
import {
  type DisruptionPlan,
  methodsFor,
  type PlannedDisruption,
  type PlanOptions,
} from '../../../../core/disruption/plan/plan.ts'
import { planBlockers } from '../../../../core/disruption/plan/plan-blockers.ts'
import { planOf } from '../../../../core/disruption/plan/plan-of.ts'
import { joinerPolicy } from '../../../../core/disruption/policy.ts'
import { causeTitle } from '../../../../core/disruption/verdicts/cause-text.ts'
import type { Node } from '../../../../core/objects.ts'
import { type ReadyDecision, readyDecision } from '../../../files/ready-decision.ts'
import type { TakingPart } from '../../../files/taking-part.ts'

/** What one pass of consolidation would do. */
export interface Pass extends Pick<DisruptionPlan, 'commands' | 'budgets'> {
  /** USD an hour of all moves, also of those for which the report has no room. */
  readonly savedPerHour: number
  readonly nodesRemoved: number
  readonly nodesAdded: number
  /** Nodes whose price is not known: their removal counts as no saving. */
  readonly unpriced: readonly string[]
  /** Why the other nodes stay. */
  readonly staying: readonly StayingNodes[]
  /** Moves that found no room. */
  readonly leftOut: number
}

/** A cluster that is ready to be decided about. */
export interface ReadyCluster {
  readonly decision: ReadyDecision
  readonly view: DisruptionView
  readonly priceOf: (node: Node) => number | undefined
  /** Epoch ms. */
  readonly now: number
}

const options = { now: true, reasons: ['Empty', 'Underutilized'] } as const

/** Indexes the cluster as the planner does. `budget`: replaces the NodePools' disruption budgets. */
export function readyCluster(
  part: TakingPart,
  { now, budget, priceOf }: Pick<ReadyCluster, 'now' | 'priceOf'> & { readonly budget?: string },
): { readonly ready: ReadyCluster; readonly pass: Pass } {
  const pools =
    budget === undefined ? part.cluster.nodePools : part.cluster.nodePools.map((pool) => withBudget(pool, budget))
  const open = new Set(part.nodePools.map(({ metadata }) => metadata.name))
  const decision = readyDecision({
    cluster: { ...part.cluster, nodePools: pools },
    instanceTypes: new Map([...part.instanceTypes].filter(([name]) => open.has(name))),
    now,
    scheduling: part.options,
    policy: joinerPolicy,
    spotToSpot: false,
    terminateFirst: neverFirst,
    forced: true,
    methods: methodsFor(options) ?? [],
    nominated: new Set(),
    deletionCosts: true,
    isOpen: ({ metadata }) => open.has(metadata.name),
  })
  const world = decision.world()
  const ready = { decision, view: world.view, priceOf, now }
  return { ready, pass: passOf(ready, evaluate(world, decision.settings)) }
}

const withBudget = (pool: TakingPart['nodePools'][number], nodes: string) => ({
  ...pool,
  disruption: { ...pool.disruption, budgets: [{ nodes }] },
})

function passOf({ view, now, priceOf }: Omit<ReadyCluster, 'decision'>, evaluation: ReturnType<typeof evaluate>): Pass {
  const frame = { id: '', cluster: '', createdAt: new Date(now).toISOString(), pauses: [], options }
  const plan = planOf(evaluation, view, frame)
  const going = evaluation.commands.flatMap(({ candidates }) => candidates.map(({ node }) => node))
  const coming = evaluation.commands.flatMap(({ replacements }) => replacements)
  const prices = new Map(going.map((node) => [node.metadata.name, priceOf(node)]))
  const before = [...prices.values()].reduce<number>((sum, price = 0) => sum + price, 0)
  return {
    commands: plan.commands.map((command) => priced(command, prices)),
    budgets: plan.budgets,
    savedPerHour: before - coming.reduce((sum, { price }) => sum + price, 0),
    nodesRemoved: going.length,
    nodesAdded: coming.length,
    unpriced: going.flatMap(({ metadata }) => (prices.get(metadata.name) === undefined ? [metadata.name] : [])),
    staying: stayingNodes(evaluation, view, { options, priceOf }),
    leftOut: plan.leftOut?.commands ?? 0,
  }
}

/** The planner's price of a size that no list names is there to avoid it, and is nobody's saving. */
function priced(command: PlannedDisruption, prices: ReadonlyMap<string, number | undefined>): PlannedDisruption {
  const candidates = command.candidates.map((one) => ({ ...one, price: prices.get(one.node) ?? 0 }))
  const sum = (all: readonly { readonly price: number }[]) => all.reduce((total, { price }) => total + price, 0)
  return { ...command, candidates, savings: sum(candidates) - sum(command.replacements) }
}

/** Nodes that a pass leaves alone for causes of one kind. */
export interface StayingNodes {
  readonly cause: string
  /** Of the first of them. */
  readonly example: string
  readonly firstNode: string
  readonly nodes: number
  /** USD an hour. */
  readonly perHour: number
}

/** Returns why nodes stay, by the first obstacle of each, the most expensive first. */
function stayingNodes(
  evaluation: Evaluation,
  view: DisruptionView,
  { options, priceOf }: { readonly options: PlanOptions; readonly priceOf: (node: Node) => number | undefined },
): readonly StayingNodes[] {
  const nodes = new Map(
    view.nodes.flatMap(({ node }) => (node === undefined ? [] : [[node.metadata.name, node] as const])),
  )
  const found = new Map<string, StayingNodes>()
  for (const { node: name = '', moves } of planBlockers(evaluation, view, options)) {
    const [move] = moves
    const node = nodes.get(name)
    if (move === undefined || node === undefined) continue
    const { kind } = move.cause
    const before = found.get(kind) ?? {
      cause: kind,
      example: causeTitle(move.cause),
      firstNode: name,
      nodes: 0,
      perHour: 0,
    }
    found.set(kind, { ...before, nodes: before.nodes + 1, perHour: before.perHour + (priceOf(node) ?? 0) })
  }
  return [...found.values()].toSorted((a, b) => b.perHour - a.perHour || b.nodes - a.nodes)
}
