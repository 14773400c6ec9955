import type { InstanceType } from '../instance-type.ts'
import { isHeldAndReady } from '../machines-in-use.ts'
import { joinsOf } from '../node-claim/node-owner.ts'
import { asClaimed } from '../node-claim/registration.ts'
import type { Node, NodeClaim, Pod, RequirementSpec, Taint } from '../objects.ts'
import { isDaemonPod, isTerminal } from '../pods/pod-rules.ts'
import type { CsiNode, DaemonSet } from '../pods/related-objects.ts'
import { annotations, labels, taintKeys } from '../requirements/labels.ts'
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
   * Pods by the name of the Node they are bound to, or of the NodeClaim they are planned on. These pods use capacity, so they must not be among the
   * pods to place.
   */
  readonly podsByNode: { get(name: string): readonly Pod[] | undefined }
  readonly daemonSets: readonly DaemonSet[]
  /** Resolves pods' volumes; when unset, volumes are not counted. */
  readonly storage?: Storage | undefined
  readonly csiNodes?: readonly CsiNode[] | undefined
  /** By NodePool, for the volume limits of a node that does not report its own. */
  readonly instanceTypes?: ReadonlyMap<string, readonly InstanceType[]>
}

/** A Node with its claim, or either alone. */
export interface StateNode {
  /** With a claim, as that has it (`asClaimed`). */
  readonly node?: Node
  /** Labels of a registered Node that are not as its claim has them. kube-scheduler reads these. */
  readonly reported?: Readonly<Record<string, string>>
  readonly claim?: NodeClaim
  /** The claim's Node joined and is gone: nothing can run there. */
  readonly isNodeGone?: true
}

/**
 * Returns Nodes merged with their claims, and claims whose Node has not joined. A pool's Node without a claim counts once it has a provider ID and a
 * label for its type or initialization. A Node that only has the provider ID of a claim is none of the answer. A Node that waits for its registration
 * belongs to its claim, also to one that is registered: of two watches that of NodeClaims may be ahead, and to take the Node for gone would buy another.
 */
export function stateNodes({ nodes, nodeClaims }: Pick<ClusterState, 'nodes' | 'nodeClaims'>): readonly StateNode[] {
  const { claimOf, strangers, rejoining, lost } = joinsOf(nodes, nodeClaims)
  const joined = new Set<NodeClaim>()
  const result: StateNode[] = []
  for (const reported of nodes) {
    const again = rejoining.get(reported)
    const claim = claimOf.get(reported) ?? again
    if (claim === undefined) {
      if (isTracked(reported) && !strangers.has(reported)) result.push({ node: reported })
    } else if (again === undefined || isJoining(reported)) {
      joined.add(claim)
      const node = asClaimed(reported, claim)
      const differs = node !== reported && node.metadata.labels[labels.registered] === 'true'
      result.push({ node, ...(differs ? { reported: reported.metadata.labels } : {}), claim })
    }
  }
  for (const claim of nodeClaims)
    if (!joined.has(claim)) result.push(lost.has(claim) ? { claim, isNodeGone: true } : { claim })
  return result
}

const isJoining = ({ taints }: Node) => taints.some(({ key }) => key === taintKeys.unregistered)

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

/**
 * Whether the pods of a node need another place now. Those of a static NodePool's drifted node wait for its replacement, which offers no room before
 * it is launched: they would be given nodes of other pools. Those of a Node that is kept without its NodeClaim stay.
 */
export function isBeingEmptied(claim: NodeClaim | undefined, node: Node | undefined): boolean {
  const stays = claim === undefined ? node !== undefined && isHeldAndReady(node) : waitsForReplica(claim, node)
  return isLeaving(claim, node) && !stays
}

function waitsForReplica({ metadata, status }: NodeClaim, node: Node | undefined): boolean {
  return (
    metadata.annotations[annotations.disruptionCommand]?.startsWith('static-drift-') === true &&
    metadata.deletionTimestamp === undefined &&
    node?.isInterrupted !== true &&
    !(annotations.interrupted in metadata.annotations) &&
    !status.conditions.some(({ type, status: is }) => type === 'InstanceTerminating' && is === 'True')
  )
}

/** Whether a claim's VM ends in a moment, with everything that runs there. */
export function isInterrupted(claim: NodeClaim | undefined, node: Node | undefined): boolean {
  return claim !== undefined && (node?.isInterrupted === true || annotations.interrupted in claim.metadata.annotations)
}

/** Whether pods may go to a node. */
export function isPlace({ claim, node, isNodeGone }: StateNode): boolean {
  return isNodeGone !== true && !isLeaving(claim, node)
}

/**
 * Returns every place a pod may go to without a new NodeClaim: whatever is not being deleted or disrupted (reference/karpenter-core.md 3.4). A claim
 * without a VM offers its planned capacity, so that a second pass finds room for the same pods instead of launching twice.
 */
export function schedulableNodes(state: ClusterState): readonly SchedulableNode[] {
  return stateNodes(state)
    .filter(isPlace)
    .map((one) => schedulable(one, state))
}

/** Returns nodes that are no places, with those of their pods that stay. */
export function occupiedNodes(state: ClusterState, known = stateNodes(state)): readonly OccupiedNode[] {
  const tracked = new Map(known.map((one) => [one.node?.metadata.name, one]))
  return state.nodes.flatMap((reported) => {
    const one = tracked.get(reported.metadata.name)
    if (one !== undefined && isPlace(one)) return []
    const node = one?.node ?? reported
    return [{ facts: factsOf(node), pods: podsOf({ node }, state), isTracked: one !== undefined }]
  })
}

const factsOf = ({ metadata, taints }: Node) => ({ name: metadata.name, labels: metadata.labels, taints })

/** Returns a place for pods. */
export function schedulable(one: StateNode, state: ClusterState): SchedulableNode {
  const { node, reported, claim } = one
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
    ...(reported === undefined ? {} : { reported }),
    ...(node === undefined ? {} : { joined: factsOf(node) }),
    ...(isLaunched(one) ? {} : { requirements: claim?.spec.requirements ?? [] }),
    ...(pods.some(({ excess }) => excess?.refused !== undefined) ? { isClosed: true } : {}),
    taints,
    capacity: capacityOf(one),
    available: availableFor(one, { labels: own, taints, pods }, state.daemonSets),
    pods,
    ...attachments(one, { labels: own, pods }, state),
  }
}

/** Before registration the claim represents the Node. */
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

/** Returns a node's labels. A claim without a VM has the labels that its requirements determine. */
export function labelsOf(one: StateNode): Readonly<Record<string, string>> {
  const { node, claim } = one
  if (node !== undefined && isRegistered(one)) return node.metadata.labels
  const own = claim?.metadata.labels ?? {}
  return isLaunched(one) ? { ...own } : labelsOfClaim(own, claim?.spec.requirements ?? [])
}

/** Returns a claim's labels with those that its requirements determine. */
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

/** Before a node is initialized, or while it restarts, temporary taints are ignored. */
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

/** Returns the node's total capacity; before its launch, the requests. */
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

/** Returns amounts of a starting node: amounts that its kubelet does not report are taken from the claim. */
function orElse(reported: Resources, promised: Resources): Resources {
  const known = Object.fromEntries(Object.entries(reported).filter(([, amount]) => amount.nano !== 0n))
  return { ...reported, ...promised, ...known }
}

/** Reserves room for daemon pods that are not bound yet. */
function availableFor(
  one: StateNode,
  { labels: nodeLabels, taints, pods }: Pick<SchedulableNode, 'labels' | 'taints' | 'pods'>,
  daemonSets: readonly DaemonSet[],
): Resources {
  const own = daemonSets.length === 0 ? new Map() : requirementsOfLabels(nodeLabels)
  const expected = daemonSets.filter((set) => daemonRunsOn(set.pod, own, taints)).map((set) => set.pod.requests)
  const running = pods.filter(isDaemonPod).map((pod) => pod.requests)
  const missing = subtractResources(mergeResources(...expected), ...running)
  const positive = Object.fromEntries(Object.entries(missing).filter(([, amount]) => amount.nano > 0n))
  return subtractResources(allocatableOf(one), ...pods.map((pod) => pod.requests), positive)
}

/** Returns volume limits: a driver's own report counts, even without a number; else that of the instance type (reference/karpenter-1.15.md 3.4). */
function attachments(
  one: StateNode,
  { labels: nodeLabels, pods }: Pick<SchedulableNode, 'labels' | 'pods'>,
  { storage, csiNodes = [], instanceTypes }: ClusterState,
): Pick<SchedulableNode, 'volumes' | 'volumeLimits'> {
  if (storage === undefined) return {}
  const { node } = one
  const limits = limitsOfTypes(one, nodeLabels, instanceTypes?.get(nodeLabels[labels.nodePool] ?? '') ?? [])
  const own = node === undefined ? undefined : csiNodes.find(({ metadata }) => metadata.name === node.metadata.name)
  for (const { name, count } of own?.drivers ?? []) {
    if (count === undefined) delete limits[name]
    else limits[name] = count
  }
  return { volumes: storage.inUse(pods), volumeLimits: limits }
}

/** Returns the limits of a node's type; before the launch, what each type that the claim may become can attach. */
function limitsOfTypes(
  one: StateNode,
  nodeLabels: SchedulableNode['labels'],
  types: readonly InstanceType[],
): Record<string, number> {
  const limits = emptyRecord<number>()
  const known = nodeLabels[labels.instanceType]
  const possible = isLaunched(one) ? [] : (one.claim?.spec.requirements ?? [])
  const names = new Set(
    known === undefined
      ? possible.flatMap(({ key, values = [] }) => (key === labels.instanceType ? values : []))
      : [known],
  )
  for (const { volumeAttachmentLimits = {} } of types.filter(({ name }) => names.has(name)))
    for (const [driver, limit] of Object.entries(volumeAttachmentLimits))
      limits[driver] = Math.min(limit, limits[driver] ?? limit)
  return limits
}
