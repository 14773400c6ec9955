import { conditionOf, isTrue } from '../conditions.ts'
import { durationMs } from '../duration.ts'
import { labels } from '../labels.ts'
import type { Node, NodeClaim, NodePool, Pod } from '../objects.ts'
import {
  type ClusterObjects,
  hasToMove,
  preparedPods,
  type SnapshotSettings,
  schedulingSnapshot,
  storageOf,
} from '../scheduling/cluster.ts'
import type { PodVolumes, SchedulingOptions } from '../scheduling/snapshot.ts'
import { labelsOf, stateNodes } from '../scheduling/state-nodes.ts'
import type { DisruptionView } from './candidates.ts'
import { type Movable, Simulator } from './simulation.ts'

/** A cluster as disruption sees it. */
export interface DisruptionWorld {
  readonly view: DisruptionView
  readonly simulator: Simulator
}

export interface WorldSettings extends SnapshotSettings {
  readonly scheduling: SchedulingOptions
  /** Names of Nodes and NodeClaims on which pending pods are expected. */
  readonly nominated: ReadonlySet<string>
}

/** Makes the world of all objects of a cluster. */
export function disruptionWorld(cluster: ClusterObjects, settings: WorldSettings): DisruptionWorld {
  const podsByNode = Map.groupBy(cluster.pods, ({ nodeName }) => nodeName ?? '')
  const view: DisruptionView = {
    nodes: inOrder(stateNodes(cluster)),
    podsOn: (node) => podsByNode.get(node) ?? [],
    nodePools: new Map(cluster.nodePools.map((pool) => [pool.metadata.name, pool])),
    instanceTypes: cluster.instanceTypes,
    podDisruptionBudgets: cluster.podDisruptionBudgets,
    nominated: settings.nominated,
    now: settings.now,
  }
  const snapshot = schedulingSnapshot(cluster, settings)
  const podVolumes = new Map<Pod, PodVolumes>(snapshot.podVolumes)
  const storage = storageOf(cluster)
  const movable = new Map<string, Movable>()
  for (const { node, claim } of view.nodes) {
    if (node === undefined || claim === undefined) continue
    const moving = view
      .podsOn(node.metadata.name)
      .filter((pod) => hasToMove(pod, cluster.podDisruptionBudgets, settings.now))
    const { pods, podVolumes: own = [], ignored } = preparedPods(moving, cluster, storage, settings)
    for (const [pod, volumes] of own) podVolumes.set(pod, volumes)
    movable.set(node.metadata.name, { pods, ...(ignored === undefined ? {} : { ignored }) })
  }
  const simulator = new Simulator({
    snapshot: { ...snapshot, podVolumes },
    options: { ...settings.scheduling, reservedOfferings: 'Fallback' },
    movable: (node) => movable.get(node) ?? { pods: [] },
    closed: openWindows(view),
  })
  return { view, simulator }
}

function inOrder<T extends { readonly node?: Node; readonly claim?: NodeClaim }>(nodes: readonly T[]): readonly T[] {
  const name = ({ node, claim }: T) => node?.metadata.name ?? claim?.metadata.name ?? ''
  return [...nodes].sort((a, b) => (name(a) < name(b) ? -1 : 1))
}

/** Names of nodes that changed too lately for their pool's consolidateAfter: to save money nothing is moved there (reference/karpenter-core.md 3.4). */
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
  const wait = durationMs(pool.disruption.consolidateAfter) ?? 0
  if (wait === 0 || !isTrue(claim.status.conditions, 'Initialized')) return false
  const since = claim.status.lastPodEventTime ?? conditionOf(claim.status.conditions, 'Initialized')?.lastTransitionTime
  return now - Date.parse(since ?? '') < wait
}
