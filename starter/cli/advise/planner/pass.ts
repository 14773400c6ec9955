import { evictionBlockedBy } from '../../../../core/disruption/budgets/pod-disruption-budgets.ts'
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
import type { Node, Pod } from '../../../../core/objects.ts'
import { hasDoNotDisrupt, isActive, isProvisionable, podName } from '../../../../core/pods/pod-rules.ts'
import { annotations } from '../../../../core/requirements/labels.ts'
import { funnelTexts } from '../../../../core/scheduling/explain/funnel.ts'
import { explainedPlan } from '../../../../core/scheduling/schedule.ts'
import { unschedulableWords } from '../../../../core/scheduling/unschedulable-text.ts'
import { type ReadyDecision, readyDecision } from '../../../files/ready-decision.ts'
import type { TakingPart } from '../../../files/taking-part.ts'
import { autoscalerAnnotations } from '../cluster/read.ts'

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

/** Something that keeps nodes, and what these cost. */
export interface Holder {
  readonly kind: 'PodDisruptionBudget' | 'pod annotation' | 'node annotation'
  /** `namespace/name` of a PodDisruptionBudget or of the pods' owner; empty for nodes. */
  readonly name: string
  /** Key of the annotation. */
  readonly annotation?: string
  readonly nodes: number
  /** Names of the first few. */
  readonly firstNodes: readonly string[]
  /** USD an hour of these nodes: the most that it can cost. */
  readonly perHour: number
  /** USD an hour of the nodes that nothing else keeps. */
  readonly alonePerHour: number
}

const mostNames = 5

interface Found extends Pick<Holder, 'kind' | 'name' | 'annotation'> {}

/** Returns what keeps nodes that Joiner may disrupt, the most expensive first. */
export function holdersOf({ view, priceOf }: ReadyCluster): readonly Holder[] {
  const found = new Map<string, Holder & { readonly nodesByName: Map<string, number>; alone: number }>()
  for (const { node, claim } of view.nodes) {
    if (node === undefined || claim === undefined) continue
    const price = priceOf(node) ?? 0
    const own = new Map(holdersOn(node, view).map((one) => [JSON.stringify(one), one]))
    for (const [key, one] of own) {
      const known = found.get(key) ?? {
        ...one,
        nodes: 0,
        firstNodes: [],
        perHour: 0,
        alonePerHour: 0,
        nodesByName: new Map(),
        alone: 0,
      }
      known.nodesByName.set(node.metadata.name, price)
      if (own.size === 1) known.alone += price
      found.set(key, known)
    }
  }
  return [...found.values()]
    .map(({ nodesByName, alone, ...one }) => ({
      ...one,
      nodes: nodesByName.size,
      firstNodes: [...nodesByName.keys()].slice(0, mostNames),
      perHour: [...nodesByName.values()].reduce((sum, price) => sum + price, 0),
      alonePerHour: alone,
    }))
    .toSorted((a, b) => b.perHour - a.perHour || b.nodes - a.nodes)
}

function holdersOn(node: Node, { podsOn, podDisruptionBudgets, now }: DisruptionView): readonly Found[] {
  return [
    ...nodeAnnotations(node),
    ...podsOn(node.metadata.name).flatMap((pod) => [...podAnnotations(pod, now), ...budgets(pod)]),
  ]

  function budgets(pod: Pod): readonly Found[] {
    const blocked = evictionBlockedBy(pod, podDisruptionBudgets, now)
    return (blocked?.podDisruptionBudgets ?? []).map((name) => ({ kind: 'PodDisruptionBudget', name }))
  }
}

function nodeAnnotations({ metadata }: Node): readonly Found[] {
  const own = metadata.annotations
  if (own[autoscalerAnnotations.scaleDownDisabled] === 'true')
    return [{ kind: 'node annotation', name: '', annotation: autoscalerAnnotations.scaleDownDisabled }]
  return own[annotations.doNotDisrupt] === 'true'
    ? [{ kind: 'node annotation', name: '', annotation: annotations.doNotDisrupt }]
    : []
}

function podAnnotations(pod: Pod, now: number): readonly Found[] {
  if (!isActive(pod) || !hasDoNotDisrupt(pod, now)) return []
  const isAutoscalers = pod.metadata.annotations[autoscalerAnnotations.safeToEvict] === 'false'
  const annotation = isAutoscalers ? autoscalerAnnotations.safeToEvict : annotations.doNotDisrupt
  return [{ kind: 'pod annotation', name: ownerName(pod), annotation }]
}

/** Pods of one controller are named by it. */
function ownerName({ metadata }: Pod): string {
  const owner = metadata.ownerReferences.find(({ controller }) => controller === true)
  return `${metadata.namespace ?? 'default'}/${owner === undefined ? metadata.name : `${owner.kind} ${owner.name}`}`
}

const mostClasses = 20
const mostPodNames = 5
const limitMs = 20_000

/** Pods that wait for the same reason, or for which the same would be done. */
export interface WaitingPods {
  readonly outcome: 'unschedulable' | 'new node' | 'existing node' | 'not tried'
  readonly count: number
  /** `namespace/name` of the first few. */
  readonly pods: readonly string[]
  readonly finding: string
  /** What was left of each NodePool's instance types after each question, a line each. */
  readonly funnel: readonly string[]
}

/** Returns what Joiner would do about pods that wait for a node, and why about some it could do nothing. `clock`: ms. */
export function waitingPods({ decision }: ReadyCluster, clock: () => number): readonly WaitingPods[] {
  const snapshot = decision.snapshot()
  const tried = snapshot.pods.filter(isProvisionable).length + (snapshot.ignored?.size ?? 0)
  if (tried === 0) return []
  const startedAt = clock()
  const shouldStop = () => clock() - startedAt > limitMs
  const { plan, podFunnels } = explainedPlan(snapshot, { ...decision.settings.scheduling, shouldStop })
  const failed = plan.unschedulable.filter(({ pod }) => isProvisionable(pod))
  const byText = Map.groupBy(failed, ({ cause }) => unschedulableWords(cause))
  const unschedulable = [...byText].map(([finding, all]): WaitingPods => {
    const [first] = all
    return {
      ...named(all.map(({ pod }) => pod)),
      outcome: 'unschedulable',
      finding,
      funnel: first === undefined ? [] : podFunnels(first.pod).flatMap(funnelTexts),
    }
  })
  const coming = [...Map.groupBy(plan.newNodeClaims, ({ nodePool }) => nodePool)].flatMap(([pool, claims]) => {
    const price = claims.reduce((sum, claim) => sum + claim.price, 0)
    const finding = `${claims.length} new of NodePool ${pool}, from USD ${price.toFixed(3)} an hour`
    return outcome(
      'new node',
      claims.flatMap(({ pods }) => pods),
      finding,
    )
  })
  const rest = new Set(plan.stopped || plan.postponed ? snapshot.pods.filter(isProvisionable) : [])
  for (const pod of [
    ...failed.map(({ pod }) => pod),
    ...plan.newNodeClaims.flatMap(({ pods }) => pods),
    ...plan.existing.flatMap(({ pods }) => pods),
  ])
    rest.delete(pod)
  return [
    ...unschedulable.toSorted((a, b) => b.count - a.count).slice(0, mostClasses),
    ...coming,
    ...outcome(
      'existing node',
      plan.existing.flatMap(({ pods }) => pods),
      'they fit on nodes that are there',
    ),
    ...outcome('not tried', [...rest], 'they have so many constraints that there was no time for them'),
  ]
}

function outcome(kind: WaitingPods['outcome'], all: readonly Pod[], finding: string): readonly WaitingPods[] {
  const pods = all.filter(isProvisionable)
  return pods.length === 0 ? [] : [{ ...named(pods), outcome: kind, finding, funnel: [] }]
}

function named(pods: readonly Pod[]): Pick<WaitingPods, 'count' | 'pods'> {
  return { count: pods.length, pods: pods.map(podName).toSorted().slice(0, mostPodNames) }
}
