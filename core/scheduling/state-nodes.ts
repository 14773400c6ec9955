import type { InstanceType } from '../instance-type.ts'
import type { Node, NodeClaim, Pod, RequirementSpec, Taint } from '../objects.ts'
import { isDaemonPod, isTerminal } from '../pods/pod-rules.ts'
import type { CsiNode, DaemonSet } from '../pods/related-objects.ts'
import { annotations, labels } from '../requirements/labels.ts'
import { operatorOf } from '../requirements/requirement.ts'
import { requirements, requirementsOfLabels } from '../requirements/requirements.ts'
import { mergeResources, noResources, type Resources, subtractResources } from '../resources.ts'
import { isEphemeralTaint, sameTaint } from '../taints.ts'
import { emptyRecord } from '../values/records.ts'
import { daemonRunsOn } from './daemon-overhead.ts'
import type { OccupiedNode, SchedulableNode } from './snapshot.ts'
import type { Storage } from './volumes.ts'

export interface ClusterState {
  readonly nodes: readonly Node[]
  readonly nodeClaims: readonly NodeClaim[]
  /**
   * Pods by the name of the Node they are bound to, or of the NodeClaim they are planned on. A pod that stands here takes up room, so it
   * must not be among the pods to place.
   */
  readonly podsByNode: { get(name: string): readonly Pod[] | undefined }
  readonly daemonSets: readonly DaemonSet[]
  /** What the volumes of pods are; absent: volumes are not counted. */
  readonly storage?: Storage | undefined
  readonly csiNodes?: readonly CsiNode[] | undefined
  /** By NodePool, for the volumes that a node can attach before it says so itself. */
  readonly instanceTypes?: ReadonlyMap<string, readonly InstanceType[]>
}

/** A Node with its claim, or either alone. */
export interface StateNode {
  readonly node?: Node
  readonly claim?: NodeClaim
}

const providerKey = (id: string | undefined) => id?.toLowerCase() ?? ''

/**
 * Nodes merged with their claims by provider ID, and claims whose Node has not joined. A Node of a pool that does not say yet what it is
 * counts as not joined.
 */
export function stateNodes({ nodes, nodeClaims }: Pick<ClusterState, 'nodes' | 'nodeClaims'>): readonly StateNode[] {
  const claimById = new Map<string, NodeClaim>()
  for (const claim of nodeClaims) {
    if (claim.status.providerId) claimById.set(providerKey(claim.status.providerId), claim)
  }
  const joined = new Set<NodeClaim>()
  const result: StateNode[] = []
  for (const node of nodes.filter(isTracked)) {
    const claim = node.providerId ? claimById.get(providerKey(node.providerId)) : undefined
    if (claim !== undefined) joined.add(claim)
    result.push(claim === undefined ? { node } : { node, claim })
  }
  for (const claim of nodeClaims) if (!joined.has(claim)) result.push({ claim })
  return result
}

function isTracked({ metadata, providerId }: Node): boolean {
  if (!metadata.labels[labels.nodePool]) return true
  if (!providerId) return false
  return Boolean(metadata.labels[labels.instanceType] || metadata.labels[labels.initialized])
}

/**
 * Whether a node is being deleted, is part of a disruption or is about to end with its VM. A Node's own deletion counts only where it has no
 * claim.
 */
export function isLeaving(claim: NodeClaim | undefined, node: Node | undefined): boolean {
  if (claim === undefined) return node?.metadata.deletionTimestamp !== undefined
  return (
    isInterrupted(claim, node) ||
    claim.metadata.deletionTimestamp !== undefined ||
    claim.metadata.annotations[annotations.disruptionCommand] !== undefined ||
    claim.status.conditions.some(({ type, status }) => type === 'InstanceTerminating' && status === 'True')
  )
}

/** Whether the VM of a claim ends in a moment, with whatever runs there. */
export function isInterrupted(claim: NodeClaim | undefined, node: Node | undefined): boolean {
  return claim !== undefined && (node?.isInterrupted === true || annotations.interrupted in claim.metadata.annotations)
}

/**
 * Every place a pod may go to without a new NodeClaim: whatever is not being deleted or marked for disruption (reference/karpenter-core.md
 * 3.4). A claim without a VM yet offers what it was planned for, so that a second pass finds room for the same pods instead of launching
 * twice.
 */
export function schedulableNodes(state: ClusterState): readonly SchedulableNode[] {
  return stateNodes(state)
    .filter(({ claim, node }) => !isLeaving(claim, node))
    .map((one) => schedulable(one, state))
}

/** Nodes that are no places, with those of their pods that stay. */
export function occupiedNodes(state: ClusterState, known = stateNodes(state)): readonly OccupiedNode[] {
  const places = new Set(known.flatMap(({ claim, node }) => (isLeaving(claim, node) ? [] : [node])))
  const tracked = new Set(known.map(({ node }) => node))
  return state.nodes
    .filter((node) => !places.has(node))
    .map((node) => ({ facts: factsOf(node), pods: podsOf({ node }, state), isTracked: tracked.has(node) }))
}

const factsOf = ({ metadata, taints }: Node) => ({ name: metadata.name, labels: metadata.labels, taints })

/** A place as pods find it. */
export function schedulable(one: StateNode, state: ClusterState): SchedulableNode {
  const { node, claim } = one
  const own = labelsOf(one)
  const taints = taintsOf(one)
  const pods = podsOf(one, state)
  const name = nameOf(one)
  return {
    name,
    hostname: own[labels.hostname] || name,
    ...(claim === undefined ? {} : { nodeClaim: claim.metadata.name }),
    ...(own[labels.nodePool] === undefined ? {} : { nodePool: own[labels.nodePool] }),
    initialized: isInitialized(one),
    labels: own,
    ...(node === undefined ? {} : { joined: factsOf(node) }),
    ...(isLaunched(one) ? {} : { requirements: claim?.spec.requirements ?? [] }),
    ...(pods.some(({ excess }) => excess?.refused !== undefined) ? { isClosed: true } : {}),
    taints,
    capacity: capacityOf(one),
    available: availableFor(one, own, taints, pods, state.daemonSets),
    pods,
    ...attachments(one, own, pods, state),
  }
}

/** Until it is registered a Node goes by its claim. */
function isRegistered({ node, claim }: StateNode): boolean {
  return claim === undefined || node?.metadata.labels[labels.registered] === 'true'
}

function isInitialized({ node, claim }: StateNode): boolean {
  return claim === undefined || node?.metadata.labels[labels.initialized] === 'true'
}

function isLaunched({ node, claim }: StateNode): boolean {
  return node !== undefined || Object.keys(claim?.status.allocatable ?? {}).length > 0
}

function nameOf(one: StateNode): string {
  const named = isRegistered(one) ? (one.node ?? one.claim) : (one.claim ?? one.node)
  return named?.metadata.name ?? ''
}

/** A claim that has no VM yet has the labels that its requirements leave no choice of. */
export function labelsOf(one: StateNode): Readonly<Record<string, string>> {
  const { node, claim } = one
  if (node !== undefined && (claim === undefined || isRegistered(one))) return node.metadata.labels
  const own = claim?.metadata.labels ?? {}
  return isLaunched(one) ? { ...own } : labelsOfClaim(own, claim?.spec.requirements ?? [])
}

/** A claim's labels with those that its requirements leave no choice of. */
export function labelsOfClaim(
  own: Readonly<Record<string, string>>,
  asked: readonly RequirementSpec[],
): Readonly<Record<string, string>> {
  const all = Object.assign(emptyRecord<string>(), own)
  for (const set of requirements(asked).values()) {
    if (operatorOf(set) === 'In' && set.values.size === 1) all[set.key] = [...set.values][0] as string
  }
  return all
}

/** Until a node is initialized, or while it restarts, taints that are there to go are not held against it. */
function taintsOf(one: StateNode): readonly Taint[] {
  const { node, claim } = one
  const taints = (isRegistered(one) ? node?.taints : undefined) ?? claim?.spec.taints ?? []
  if (claim === undefined) return taints
  const isRestarting = claim.status.conditions.some(({ type, status }) => type === 'Rebooting' && status === 'True')
  if (isInitialized(one) && !isRestarting) return taints
  const passing = [...claim.spec.startupTaints, rebooting]
  return taints.filter((taint) => !isEphemeralTaint(taint) && !passing.some((other) => sameTaint(other, taint)))
}

const rebooting: Taint = { key: 'karpenter.sh/rebooting', effect: 'NoSchedule' }

function podsOf({ node, claim }: StateNode, { podsByNode }: ClusterState): readonly Pod[] {
  const names = new Set([node?.metadata.name, claim?.metadata.name])
  return [...names].flatMap((name) => podsByNode.get(name ?? '') ?? []).filter((pod) => !isTerminal(pod))
}

/** What the node has in all; before its launch, what was asked for. */
export function capacityOf(one: StateNode): Resources {
  const { node, claim } = one
  if (claim === undefined || isInitialized(one)) return node?.capacity ?? noResources
  return orElse(node?.capacity ?? noResources, isLaunched(one) ? claim.status.capacity : claim.spec.requests)
}

function allocatableOf(one: StateNode): Resources {
  const { node, claim } = one
  if (claim === undefined || isInitialized(one)) return node?.allocatable ?? noResources
  return orElse(node?.allocatable ?? noResources, isLaunched(one) ? claim.status.allocatable : claim.spec.requests)
}

/** Amounts of a node that starts: what its kubelet does not report yet is taken from the claim. */
function orElse(reported: Resources, promised: Resources): Resources {
  const known = Object.fromEntries(Object.entries(reported).filter(([, amount]) => amount.nano !== 0n))
  return { ...reported, ...promised, ...known }
}

/** Daemon pods that are not bound yet get their room reserved. */
function availableFor(
  one: StateNode,
  nodeLabels: Readonly<Record<string, string>>,
  taints: readonly Taint[],
  pods: readonly Pod[],
  daemonSets: readonly DaemonSet[],
): Resources {
  const own = daemonSets.length === 0 ? new Map() : requirementsOfLabels(nodeLabels)
  const expected = daemonSets.filter((set) => daemonRunsOn(set.pod, own, taints)).map((set) => set.pod.requests)
  const running = pods.filter(isDaemonPod).map((pod) => pod.requests)
  const missing = subtractResources(mergeResources(...expected), ...running)
  const positive = Object.fromEntries(Object.entries(missing).filter(([, amount]) => amount.nano > 0n))
  return subtractResources(allocatableOf(one), ...pods.map((pod) => pod.requests), positive)
}

/** A driver's own word counts, no number included; else what the instance type is known for (reference/karpenter-1.15.md 3.4). */
function attachments(
  { node }: StateNode,
  nodeLabels: Readonly<Record<string, string>>,
  pods: readonly Pod[],
  { storage, csiNodes = [], instanceTypes }: ClusterState,
): Pick<SchedulableNode, 'volumes' | 'volumeLimits'> {
  if (storage === undefined) return {}
  const type = instanceTypes
    ?.get(nodeLabels[labels.nodePool] ?? '')
    ?.find(({ name }) => name === nodeLabels[labels.instanceType])
  const limits = Object.assign(emptyRecord<number>(), type?.volumeAttachmentLimits)
  const own = node === undefined ? undefined : csiNodes.find(({ metadata }) => metadata.name === node.metadata.name)
  for (const { name, count } of own?.drivers ?? []) {
    if (count === undefined) delete limits[name]
    else limits[name] = count
  }
  return { volumes: storage.inUse(pods), volumeLimits: limits }
}
