import type { NodeClaim, Pod } from '../../objects.ts'
import { podName } from '../../pods/pod-rules.ts'
import { labels } from '../../requirements/labels.ts'
import type { PlannedNodeClaim } from '../../scheduling/snapshot.ts'
import { labelsOf, type StateNode } from '../../scheduling/state-nodes.ts'
import type { Candidate, DisruptionView } from '../candidates.ts'
import { type DisruptionCommand, reasonOf } from '../command.ts'
import { priceNow } from '../costs.ts'
import type { Evaluation } from '../evaluate.ts'
import type {
  DisruptionPlan,
  PlanBudget,
  PlannedCandidate,
  PlannedDisruption,
  PlannedReplacement,
  PlanOptions,
} from './plan.ts'
import { planBlockers } from './plan-blockers.ts'

/** Fields of a plan that do not come from the evaluation. */
export interface PlanFrame extends Pick<DisruptionPlan, 'id' | 'cluster' | 'createdAt' | 'pauses'> {
  readonly by?: string
  readonly options: PlanOptions
}

/** Room in characters of JSON: a ConfigMap takes 1 MiB. */
const commandRoom = 700_000
const blockerRoom = 150_000
const mostTypes = 10

/** Returns an evaluation as a plan. `view` is the evaluated cluster. */
export function planOf(evaluation: Evaluation, view: DisruptionView, frame: PlanFrame): DisruptionPlan {
  const commands = fitting(plannedDisruptions(evaluation.commands), commandRoom)
  const all = planBlockers(evaluation, view, frame.options)
  const blockers = fitting(all, blockerRoom)
  const leftOut = { commands: evaluation.commands.length - commands.length, blockers: all.length - blockers.length }
  return {
    version: 1,
    ...frame,
    commands,
    nodePools: poolsOf(commands, view),
    cost: costOf(commands, view),
    blockers,
    budgets: usedUp(evaluation),
    warnings: oddOptions(frame.options, view),
    ...(leftOut.commands + leftOut.blockers === 0 ? {} : { leftOut }),
  }
}

/** Returns the longest prefix that fits into the room. */
function fitting<T>(items: readonly T[], room: number): readonly T[] {
  let left = room
  const at = items.findIndex((item) => {
    left -= JSON.stringify(item).length + 1
    return left < 0
  })
  return at === -1 ? items : items.slice(0, at)
}

function plannedDisruptions(commands: readonly DisruptionCommand[]): readonly PlannedDisruption[] {
  let last = 0
  return commands.map((command) => {
    const { method, decision, savings } = command
    const first = last + 1
    last += command.replacements.length
    const places = placesOf(command, first)
    return {
      method,
      reason: reasonOf(command),
      decision,
      candidates: command.candidates.map((candidate) => plannedCandidate(candidate, places)),
      replacements: command.replacements.map((claim, at) => plannedReplacement(claim, first + at)),
      savings,
    }
  })
}

type Place = { readonly node: string } | { readonly newNode: number }

/** Where the pods of a command go, by their uid. */
function placesOf({ plan, replacements }: DisruptionCommand, first: number): ReadonlyMap<string, Place> {
  const places = new Map<string, Place>()
  const put = (pods: readonly Pod[], place: Place) => {
    for (const { metadata } of pods) places.set(metadata.uid, place)
  }
  for (const { node, pods } of plan?.existing ?? []) put(pods, { node })
  replacements.forEach(({ pods }, at) => put(pods, { newNode: first + at }))
  return places
}

function plannedCandidate(
  { nodeClaim, node, nodePool, reschedulable, price }: Candidate,
  places: ReadonlyMap<string, Place>,
): PlannedCandidate {
  const own = node.metadata.labels
  return {
    nodeClaim: nodeClaim.metadata.name,
    uid: nodeClaim.metadata.uid,
    node: node.metadata.name,
    nodePool: nodePool.metadata.name,
    instanceType: own[labels.instanceType] ?? '',
    capacityType: own[labels.capacityType] ?? '',
    zone: own[labels.zone] ?? '',
    price,
    pods: reschedulable
      .map((pod) => ({ pod: podName(pod), uid: pod.metadata.uid, ...places.get(pod.metadata.uid) }))
      .sort((a, b) => (a.pod < b.pod ? -1 : 1)),
  }
}

function plannedReplacement(claim: PlannedNodeClaim, number: number): PlannedReplacement {
  const { nodePool, instanceTypes, requirements, price, pods } = claim
  const valuesOf = (key: string) =>
    requirements.find((each) => each.key === key && each.operator === 'In')?.values?.toSorted() ?? []
  return {
    number,
    nodePool,
    instanceTypes: instanceTypes.slice(0, mostTypes),
    otherTypes: Math.max(0, instanceTypes.length - mostTypes),
    capacityTypes: valuesOf(labels.capacityType),
    zones: valuesOf(labels.zone),
    price,
    pods: pods.length,
  }
}

function poolsOf(commands: readonly PlannedDisruption[], { nodePools }: DisruptionView): DisruptionPlan['nodePools'] {
  return [...new Set(commands.flatMap(poolNamesOf))].sort().flatMap((name) => {
    const pool = nodePools.get(name)
    return pool === undefined ? [] : [{ name, uid: pool.metadata.uid, generation: pool.metadata.generation ?? 0 }]
  })
}

/** The pools that a command takes nodes from or adds nodes to. */
export function poolNamesOf({
  candidates,
  replacements,
}: Pick<PlannedDisruption, 'candidates' | 'replacements'>): readonly string[] {
  return [...candidates, ...replacements].map(({ nodePool }) => nodePool)
}

function costOf(commands: readonly PlannedDisruption[], view: DisruptionView): DisruptionPlan['cost'] {
  const sum = (all: readonly { readonly price: number }[]) => all.reduce((total, { price }) => total + price, 0)
  const before = sum(commands.flatMap(({ candidates }) => candidates))
  const after = sum(commands.flatMap(({ replacements }) => replacements))
  const prices = view.nodes
    .filter(({ claim }) => claim !== undefined)
    .map((one) => ({ price: priceNow(labelsOf(one), view.instanceTypes) }))
  const cluster = sum(prices)
  return {
    nodes: { before, after },
    cluster: { before: cluster, after: cluster - before + after },
    unpriced: prices.filter(({ price }) => price === 0).length,
  }
}

/** Budgets that present disruptions and the plan use up. A pass counts the commands of earlier passes as disrupted. */
function usedUp({ commands, passes }: Evaluation): readonly PlanBudget[] {
  const found = passes.flatMap(({ method, budgets, candidates }) => {
    const reason = reasonOf({ method })
    if (candidates.length === 0) return []
    return [...budgets].flatMap(([nodePool, { nodes, allowed, disrupted, remaining }]) => {
      const taken = commands
        .filter((command) => command.method === method)
        .flatMap((command) => command.candidates.filter((each) => each.nodePool.metadata.name === nodePool))
      return nodes === 0 || remaining > taken.length
        ? []
        : [{ nodePool, reason, nodes, allowed, disrupted: disrupted.length }]
    })
  })
  const unique = new Map(found.map((each) => [`${each.nodePool}/${each.reason}`, each]))
  return [...unique.values()]
}

function oddOptions({ nodePools = [], nodes = [] }: PlanOptions, view: DisruptionView): readonly string[] {
  const names = new Set(view.nodes.flatMap(({ node, claim }) => [node?.metadata.name, claim?.metadata.name]))
  return [
    ...nodePools.filter((name) => !view.nodePools.has(name)).map((name) => `there is no NodePool "${name}"`),
    ...nodes.filter((name) => !names.has(name)).map((name) => `there is no Node or NodeClaim "${name}"`),
    ...nodes
      .filter((name) => names.has(name) && !view.nodes.some((one) => isManaged(one, name)))
      .map((name) => `node "${name}" has no NodeClaim: it is not Joiner's`),
  ]
}

function isManaged({ node, claim }: StateNode, name: string): boolean {
  return claim !== undefined && (claim.metadata.name === name || node?.metadata.name === name)
}

export const claimsOf = ({
  nodes,
}: Pick<DisruptionView, 'nodes'>): ReadonlyMap<string, StateNode & { claim: NodeClaim }> =>
  new Map(
    nodes.flatMap((one) => {
      const { claim } = one
      return claim === undefined ? [] : [[claim.metadata.uid, { ...one, claim }] as const]
    }),
  )
