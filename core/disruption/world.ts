import { realPlan } from '../capacity-buffer/buffer-pods.ts'
import type { Node, NodeClaim, NodePool, Pod } from '../objects.ts'
import { labels } from '../requirements/labels.ts'
import { hasToMove, type SnapshotSettings } from '../scheduling/cluster.ts'
import type { DisruptionSource } from '../scheduling/cluster-index.ts'
import { isHeavy } from '../scheduling/pod-cost.ts'
import type { PodVolumes, SchedulingOptions } from '../scheduling/snapshot.ts'
import type { SolverMemory } from '../scheduling/solver/memory.ts'
import { labelsOf } from '../scheduling/state-nodes.ts'
import type { UnschedulableCause } from '../scheduling/unschedulable.ts'
import { durationMs } from '../values/duration.ts'
import type { DisruptionView } from './candidates.ts'
import type { DisruptionCommand } from './command.ts'
import { consolidatableAt } from './consolidatable.ts'
import { replacementsInUse } from './replacements-in-use.ts'
import { type Movable, Simulator } from './simulation.ts'

/** A cluster as disruption evaluates it. */
export interface DisruptionWorld {
  readonly view: DisruptionView
  readonly simulator: Simulator
}

export interface WorldSettings extends Pick<SnapshotSettings, 'now'> {
  readonly scheduling: SchedulingOptions
  /** An operator requested it: consolidateAfter counts as over. */
  readonly forced?: boolean
  /** Facts that the cluster's objects do not hold. */
  readonly view?: Pick<DisruptionView, 'deletionCosts' | 'isClockWrong' | 'pauses' | 'repairs' | 'reserved'>
  readonly memory?: SolverMemory
  /** Names of Nodes and NodeClaims on which pending pods are expected. */
  readonly nominated: ReadonlySet<string>
}

/** Returns the cluster that disruption evaluates before it simulates where pods would go. */
export function disruptionView(
  source: Omit<DisruptionSource, 'snapshot' | 'prepare'>,
  instanceTypes: DisruptionView['instanceTypes'],
  { now, nominated, view }: Pick<WorldSettings, 'now' | 'nominated' | 'view'>,
): DisruptionView {
  return {
    ...view,
    nodes: inOrder(source.nodes),
    podsOn: source.podsOn,
    nodePools: new Map(source.nodePools.map((pool) => [pool.metadata.name, pool])),
    instanceTypes,
    podDisruptionBudgets: source.podDisruptionBudgets,
    nominated,
    now,
  }
}

const tooHeavy: UnschedulableCause = { kind: 'takes-too-long', what: 'simulation' }

/** Returns the world for a known cluster. */
export function disruptionWorld(
  source: DisruptionSource,
  instanceTypes: DisruptionView['instanceTypes'],
  settings: WorldSettings,
): DisruptionWorld {
  const { podsOn, podDisruptionBudgets, snapshot } = source
  const { now, scheduling, memory, forced = false } = settings
  const view = disruptionView(source, instanceTypes, settings)
  // The cluster is simulated thousands of times, and pods with many constraints would take part each time. So those that wait are left out, and those
  // that run keep their nodes. Requirements of volumes are resolved when a simulation needs them.
  const podVolumes = new Map<Pod, PodVolumes>(snapshot.podVolumes)
  const known = new Map<string, Movable>()
  const movable = (node: string, isUrgent: boolean): Movable => {
    const key = `${node}${isUrgent ? ' all' : ''}`
    const before = known.get(key)
    if (before !== undefined) return before
    const moment = { budgets: podDisruptionBudgets, now, isInterrupted: isUrgent }
    const moving = podsOn(node).filter((pod) => hasToMove(pod, moment))
    const { pods, podVolumes: own = [], ignored = [] } = source.prepare(moving)
    for (const [pod, volumes] of own) podVolumes.set(pod, volumes)
    const heavy = pods.filter(isHeavy).map((pod) => [pod, tooHeavy] as const)
    const found = { pods: pods.filter((pod) => !isHeavy(pod)), ignored: new Map([...ignored, ...heavy]) }
    known.set(key, found)
    return found
  }
  const simulator = new Simulator({
    snapshot: { ...snapshot, pods: snapshot.pods.filter((pod) => !isHeavy(pod)), podVolumes },
    options: { ...scheduling, reservedOfferings: 'Fallback' },
    movable,
    closed: forced ? new Set() : openWindows(view),
    leaving: new Set([...reservedNodes(view), ...keptForOthers(view)]),
    ...(memory === undefined ? {} : { memory }),
  })
  return withBuffers(view, simulator)
}

/** Asks the simulator where buffers have their room when a method wants to know. */
function withBuffers(view: DisruptionView, simulator: Simulator): DisruptionWorld {
  return { view: { ...view, buffersOn: (node) => simulator.buffersOn(node) }, simulator }
}

/** Returns the cluster after a command's decision: its nodes are reserved, and pods are expected where its plan puts them. */
export function worldAfter(
  { view, simulator }: DisruptionWorld,
  { candidates, plan = nothingMoves, repair }: Pick<DisruptionCommand, 'candidates' | 'plan' | 'repair'>,
): DisruptionWorld {
  const names = candidates.map(({ nodeClaim }) => nodeClaim.metadata.name)
  const reserved = new Set([...(view.reserved ?? []), ...names])
  // Virtual pods stay where there is room at the time: only those that a new node is bought for have their place.
  const lasting = { ...plan, existing: realPlan({ ...plan, newNodeClaims: [] }).existing }
  const nominated = new Set([...view.nominated, ...lasting.existing.map(({ node }) => node)])
  return withBuffers({ ...view, reserved, nominated }, simulator.after(candidates, lasting, repair !== undefined))
}

const nothingMoves = { newNodeClaims: [], existing: [], unschedulable: [], stopped: false }

function inOrder<T extends { readonly node?: Node; readonly claim?: NodeClaim }>(nodes: readonly T[]): readonly T[] {
  const name = ({ node, claim }: T) => node?.metadata.name ?? claim?.metadata.name ?? ''
  return [...nodes].sort((a, b) => (name(a) < name(b) ? -1 : 1))
}

/** Returns names of nodes that a proposal would remove. */
function reservedNodes({ nodes, reserved: claims }: DisruptionView): ReadonlySet<string> {
  if (claims === undefined || claims.size === 0) return new Set()
  return new Set(
    nodes.flatMap(({ node, claim }) => (node && claim && claims.has(claim.metadata.name) ? [node.metadata.name] : [])),
  )
}

/**
 * Names of in-flight replacements: the pods that they were made for are still to come. Other pods moved there would be found without a place by then.
 */
function* keptForOthers({ nodes }: DisruptionView): Iterable<string> {
  const replacements = replacementsInUse(nodes.flatMap(({ claim }) => claim ?? []))
  for (const { node, claim } of replacements.size === 0 ? [] : nodes)
    if (claim !== undefined && replacements.has(claim)) yield node?.metadata.name ?? claim.metadata.name
}

/**
 * Returns names of nodes that changed within their pool's consolidateAfter: nothing is moved there to save money (reference/karpenter-core.md 3.4).
 */
function openWindows({ nodes, nodePools, now }: DisruptionView): ReadonlySet<string> {
  const open = new Set<string>()
  for (const one of nodes) {
    const { node, claim } = one
    const pool = nodePools.get(labelsOf(one)[labels.nodePool] ?? '')
    if (node !== undefined && claim !== undefined && pool !== undefined && isOpen(claim, pool, now))
      open.add(node.metadata.name)
  }
  return open
}

function isOpen(claim: NodeClaim, pool: NodePool, now: number): boolean {
  const at = consolidatableAt(claim, pool)
  return at !== undefined && durationMs(pool.disruption.consolidateAfter) !== 0 && now < at
}
