import type { Pod } from '../objects.ts'
import { mergeResources, noResources, subtractResources } from '../resources.ts'
import { integerQuantity } from '../values/quantity.ts'
import type {
  NodePoolOption,
  OccupiedNode,
  PlannedNodeClaim,
  SchedulableNode,
  SchedulingPlan,
  SchedulingSnapshot,
  VolumesByDriver,
} from './snapshot.ts'
import { labelsOfClaim } from './state-nodes.ts'
import { unionOfVolumes } from './trial.ts'
import type { Removal } from './what-if.ts'

/** Returns the snapshot without these nodes: they are no places, but pods that stay on them count until they are gone. */
export function snapshotWithout(snapshot: SchedulingSnapshot, removed: readonly Removal[]): SchedulingSnapshot {
  const places = new Set(removed.map(({ place }) => place))
  return {
    ...snapshot,
    pods: [...snapshot.pods, ...removed.flatMap(({ moving }) => moving)],
    nodes: snapshot.nodes.filter((node) => !places.has(node)),
    occupied: [...(snapshot.occupied ?? []), ...removed.flatMap(occupiedWithout)],
    nodePools: snapshot.nodePools.map((option) => withoutUsage(option, removed)),
  }
}

/** A claim whose Node has not joined leaves nothing behind. */
function occupiedWithout({ place: { joined, pods }, moving }: Removal): readonly OccupiedNode[] {
  const gone = new Set(moving.map(({ metadata }) => metadata.uid))
  if (joined === undefined) return []
  return [{ facts: joined, pods: pods.filter(({ metadata }) => !gone.has(metadata.uid)), isTracked: true }]
}

function withoutUsage(option: NodePoolOption, removed: readonly Removal[]): NodePoolOption {
  const { name } = option.nodePool.metadata
  const own = removed.filter(({ place }) => place.nodePool === name).map(({ place }) => place.capacity)
  if (own.length === 0) return option
  return { ...option, usage: subtractResources(option.usage, ...own, { nodes: integerQuantity(own.length) }) }
}

/**
 * Returns the snapshot after a command's decision. Its nodes count as occupied, and the pods that its plan placed on nodes are counted there. Its new
 * claims are in-flight nodes with their pods and no room for others. Pods without a place still wait. `plan` is the answer of `without` to the same
 * nodes.
 */
export function settled(
  snapshot: SchedulingSnapshot,
  removed: readonly Removal[],
  plan: SchedulingPlan,
): SchedulingSnapshot {
  const changed = snapshotWithout(snapshot, removed)
  const arrivals = new Map(plan.existing.map(({ node, pods }) => [node, pods]))
  const placed = new Set([...plan.existing, ...plan.newNodeClaims].flatMap(({ pods }) => pods))
  const claims = plan.newNodeClaims.map((claim) => onItsWay(claim, changed))
  return {
    ...changed,
    pods: changed.pods.filter((pod) => !placed.has(pod)),
    nodes: [...changed.nodes.map((node) => withArrivals(node, arrivals.get(node.name) ?? [], snapshot)), ...claims],
    nodePools: changed.nodePools.map((option) => withUsage(option, claims)),
  }
}

function withArrivals(
  node: SchedulableNode,
  arrivals: readonly Pod[],
  { podVolumes }: Pick<SchedulingSnapshot, 'podVolumes'>,
): SchedulableNode {
  if (arrivals.length === 0) return node
  const volumes = volumesOf(arrivals, podVolumes, node.volumes)
  return {
    ...node,
    available: subtractResources(node.available, ...arrivals.map(({ requests }) => requests)),
    pods: [...node.pods, ...arrivals],
    ...(volumes === undefined ? {} : { volumes }),
  }
}

function volumesOf(
  pods: readonly Pod[],
  podVolumes: SchedulingSnapshot['podVolumes'],
  before: VolumesByDriver | undefined,
): VolumesByDriver | undefined {
  return pods.reduce((all: VolumesByDriver | undefined, pod) => {
    const own = podVolumes?.get(pod)?.byDriver
    return own === undefined ? all : unionOfVolumes(all ?? {}, own)
  }, before)
}

/** Returns a planned claim as a place. Its capacity was requested for its pods, so nothing is left. */
function onItsWay(claim: PlannedNodeClaim, { nodePools, podVolumes }: SchedulingSnapshot): SchedulableNode {
  const { nodePool, requirements, requests, pods } = claim
  const name = `planned-${pods[0]?.metadata.uid}`
  const pool = nodePools.find((option) => option.nodePool.metadata.name === nodePool)
  const volumes = volumesOf(pods, podVolumes, undefined)
  return {
    name,
    hostname: name,
    nodePool,
    initialized: false,
    labels: labelsOfClaim(claim.labels, requirements),
    requirements,
    taints: pool?.nodePool.template.spec.taints ?? [],
    capacity: requests,
    available: noResources,
    pods,
    ...(volumes === undefined ? {} : { volumes }),
  }
}

function withUsage(option: NodePoolOption, arrived: readonly SchedulableNode[]): NodePoolOption {
  const own = arrived.filter(({ nodePool }) => nodePool === option.nodePool.metadata.name)
  if (own.length === 0) return option
  const capacities = own.map(({ capacity }) => ({ ...capacity, nodes: integerQuantity(1) }))
  return { ...option, usage: mergeResources(option.usage, ...capacities) }
}
