import { annotations, labels } from '../labels.ts'
import type { DaemonSet, Node, NodeClaim, Pod, Taint } from '../objects.ts'
import { isDaemonPod, isTerminal } from '../pod-rules.ts'
import { operatorOf } from '../requirement.ts'
import { requirements, requirementsOfLabels } from '../requirements.ts'
import { mergeResources, noResources, type Resources, subtractResources } from '../resources.ts'
import { isEphemeralTaint, sameTaint } from '../taints.ts'
import { daemonRunsOn } from './daemon-overhead.ts'
import type { SchedulableNode } from './snapshot.ts'

export interface ClusterState {
  readonly nodes: readonly Node[]
  readonly nodeClaims: readonly NodeClaim[]
  /**
   * Pods by the name of the Node they are bound to, or of the NodeClaim they are planned on. A pod that stands here takes up room, so it
   * must not be among the pods to place.
   */
  readonly podsByNode: ReadonlyMap<string, readonly Pod[]>
  readonly daemonSets: readonly DaemonSet[]
}

/**
 * Every place a pod may go to without a new NodeClaim: Nodes, merged with their claims by provider ID, and claims whose Node has not joined. A claim without
 * a VM yet offers what it was planned for, so that a second pass finds room for the same pods instead of launching twice.
 * Whatever is being deleted or is marked for disruption is left out (reference/karpenter-core.md 3.4).
 */
export function schedulableNodes(state: ClusterState): readonly SchedulableNode[] {
  const claimById = new Map<string, NodeClaim>()
  for (const claim of state.nodeClaims)
    if (claim.status.providerId) claimById.set(claim.status.providerId.toLowerCase(), claim)
  const joined = new Set<NodeClaim>()
  const result: SchedulableNode[] = []
  for (const node of state.nodes) {
    const claim = node.providerId ? claimById.get(node.providerId.toLowerCase()) : undefined
    if (claim !== undefined) joined.add(claim)
    if (!isLeaving(claim, node)) result.push(ofNode(node, claim, state))
  }
  for (const claim of state.nodeClaims)
    if (!joined.has(claim) && !isLeaving(claim, undefined)) result.push(ofClaim(claim, state))
  return result
}

/** Whether a node is being deleted or is part of a disruption. A Node's own deletion counts only where it has no claim. */
export function isLeaving(claim: NodeClaim | undefined, node: Node | undefined): boolean {
  if (claim === undefined) return node?.metadata.deletionTimestamp !== undefined
  return (
    claim.metadata.deletionTimestamp !== undefined ||
    claim.metadata.annotations[annotations.disruptionCommand] !== undefined ||
    claim.status.conditions.some(({ type, status }) => type === 'InstanceTerminating' && status === 'True')
  )
}

function ofNode(node: Node, claim: NodeClaim | undefined, state: ClusterState): SchedulableNode {
  const registered = claim === undefined || node.metadata.labels[labels.registered] === 'true'
  const initialized = claim === undefined || node.metadata.labels[labels.initialized] === 'true'
  const nodeLabels = registered ? node.metadata.labels : { ...node.metadata.labels, ...claim.metadata.labels }
  const cordon: readonly Taint[] = node.unschedulable
    ? [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }]
    : []
  const taints = initialized ? node.taints : effectiveTaints(registered ? node.taints : claim.spec.taints, claim)
  const allocatable = initialized
    ? node.allocatable
    : orElse(node.allocatable, claim?.status.allocatable ?? noResources)
  const pods = (state.podsByNode.get(node.metadata.name) ?? []).concat(
    claim !== undefined && claim.metadata.name !== node.metadata.name
      ? (state.podsByNode.get(claim.metadata.name) ?? [])
      : [],
  )
  return {
    name: node.metadata.name,
    hostname: node.metadata.labels[labels.hostname] ?? node.metadata.name,
    ...(claim === undefined ? {} : { nodeClaim: claim.metadata.name }),
    initialized,
    labels: nodeLabels,
    ...rest(
      allocatable,
      nodeLabels,
      [...taints, ...cordon.filter((taint) => !taints.some((own) => sameTaint(own, taint)))],
      pods,
      state,
    ),
  }
}

function ofClaim(claim: NodeClaim, state: ClusterState): SchedulableNode {
  const launched = Object.keys(claim.status.allocatable).length > 0
  const nodeLabels: Record<string, string> = { ...claim.metadata.labels }
  if (!launched) {
    for (const set of requirements(claim.spec.requirements).values()) {
      if (operatorOf(set) === 'In' && set.values.size === 1) nodeLabels[set.key] = [...set.values][0] as string
    }
  }
  const taints = effectiveTaints(claim.spec.taints, claim)
  const pods = state.podsByNode.get(claim.metadata.name) ?? []
  return {
    name: claim.metadata.name,
    hostname: claim.metadata.name,
    nodeClaim: claim.metadata.name,
    initialized: false,
    labels: nodeLabels,
    ...(launched ? {} : { requirements: claim.spec.requirements }),
    ...rest(launched ? claim.status.allocatable : claim.spec.requests, nodeLabels, taints, pods, state),
  }
}

/** Until a node is initialized, taints that are there to go are not held against it. */
function effectiveTaints(taints: readonly Taint[], claim: NodeClaim | undefined): readonly Taint[] {
  const startup = claim?.spec.startupTaints ?? []
  return taints.filter((taint) => !isEphemeralTaint(taint) && !startup.some((other) => sameTaint(other, taint)))
}

/** Amounts of a node that starts: what its kubelet does not report yet is taken from the claim. */
function orElse(reported: Resources, promised: Resources): Resources {
  const known = Object.fromEntries(Object.entries(reported).filter(([, amount]) => amount.nano !== 0n))
  return { ...reported, ...promised, ...known }
}

/** Daemon pods that are not bound yet get their room reserved. */
function rest(
  allocatable: Resources,
  nodeLabels: Readonly<Record<string, string>>,
  taints: readonly Taint[],
  bound: readonly Pod[],
  { daemonSets }: ClusterState,
): Pick<SchedulableNode, 'taints' | 'available' | 'pods'> {
  const pods = bound.filter((pod) => !isTerminal(pod))
  const own = requirementsOfLabels(nodeLabels)
  const expected = daemonSets.filter((set) => daemonRunsOn(set.pod, own, taints)).map((set) => set.pod.requests)
  const running = pods.filter(isDaemonPod).map((pod) => pod.requests)
  const missing = subtractResources(mergeResources(...expected), ...running)
  const positive = Object.fromEntries(Object.entries(missing).filter(([, amount]) => amount.nano > 0n))
  return { taints, pods, available: subtractResources(allocatable, ...pods.map((pod) => pod.requests), positive) }
}
