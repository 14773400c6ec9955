import { isFullyBlocked } from '../disruption/budgets/pod-disruption-budgets.ts'
import type { InstanceType } from '../instance-type.ts'
import type { Node, NodeClaim, NodePool, Pod, PodDisruptionBudget, RequirementSpec } from '../objects.ts'
import { hasDoNotDisrupt, isActive, isProvisionable, isReschedulable, podName } from '../pods/pod-rules.ts'
import type {
  CsiNode,
  DaemonSet,
  Namespace,
  PersistentVolume,
  PersistentVolumeClaim,
  PodController,
  Service,
  StorageClass,
} from '../pods/related-objects.ts'
import { labels, wellKnownLabels } from '../requirements/labels.ts'
import { operatorOf } from '../requirements/requirement.ts'
import { requirementErrors } from '../requirements/requirement-rules.ts'
import { podRequirements } from '../requirements/requirements.ts'
import { mergeResources, type Resources } from '../resources.ts'
import { integerQuantity } from '../values/quantity.ts'
import { compareText } from '../values/texts.ts'
import type { NodePoolOption, SchedulingOptions, SchedulingSnapshot } from './snapshot.ts'
import {
  capacityOf,
  isBeingEmptied,
  isInterrupted,
  isLeaving,
  labelsOf,
  occupiedNodes,
  type StateNode,
  schedulableNodes,
  stateNodes,
} from './state-nodes.ts'
import { type DefaultSpreadConstraint, withDefaultSpread } from './topology/spread-defaults.ts'
import type { IgnoredReason, UnschedulableCause, VolumeProblem } from './unschedulable.ts'
import { Storage } from './volumes.ts'

/** The objects of a cluster that placement depends on. A missing list is unknown: pods that need it are left out. */
export interface ClusterObjects {
  readonly pods: readonly Pod[]
  readonly nodes: readonly Node[]
  readonly nodeClaims: readonly NodeClaim[]
  readonly nodePools: readonly NodePool[]
  readonly daemonSets: readonly DaemonSet[]
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[]
  readonly namespaces?: readonly Namespace[]
  readonly services?: readonly Service[]
  readonly controllers?: readonly PodController[]
  readonly persistentVolumeClaims?: readonly PersistentVolumeClaim[]
  readonly persistentVolumes?: readonly PersistentVolume[]
  readonly storageClasses?: readonly StorageClass[]
  readonly csiNodes?: readonly CsiNode[]
  /** Instance types that each pool can buy, by its name. */
  readonly instanceTypes: ReadonlyMap<string, readonly InstanceType[]>
}

export interface SnapshotSettings {
  /** Epoch ms. */
  readonly now: number
  readonly wellKnownLabels?: ReadonlySet<string>
  readonly defaultSpread?: readonly DefaultSpreadConstraint[]
  /** As of the scheduler's options. */
  readonly inHand?: SchedulingOptions['inHand']
}

/** Returns pods that need a place: those the scheduler could not place, and those that must leave terminating nodes. */
export function podsToPlace(
  cluster: Pick<ClusterObjects, 'pods' | 'nodes' | 'nodeClaims' | 'podDisruptionBudgets'>,
  now: number,
): readonly Pod[] {
  const leaving = new Map(
    stateNodes(cluster)
      .filter(({ claim, node }) => isBeingEmptied(claim, node))
      .map(({ claim, node }) => [node?.metadata.name, isInterrupted(claim, node)]),
  )
  const budgets = cluster.podDisruptionBudgets
  const isMoving = (pod: Pod) => {
    const interrupted = leaving.get(pod.nodeName)
    return interrupted !== undefined && hasToMove(pod, { budgets, now, isInterrupted: interrupted })
  }
  return inRuleOrder(cluster.pods.filter((pod) => isProvisionable(pod) || isMoving(pod)))
}

/** When a node's pods have to move. */
export interface MoveMoment {
  readonly budgets: readonly PodDisruptionBudget[]
  /** Epoch ms. */
  readonly now: number
  /** Whether the cloud is about to end the node's VM. */
  readonly isInterrupted?: boolean
}

/** Whether a pod of a terminating node needs another place. An interruption ignores the pod's protection and its budget. */
export function hasToMove(pod: Pod, { budgets, now, isInterrupted: isUrgent = false }: MoveMoment): boolean {
  if (pod.nodeName === undefined || !isReschedulable(pod)) return false
  return isUrgent || (!(isActive(pod) && hasDoNotDisrupt(pod, now)) && !isFullyBlocked(pod, budgets, now))
}

/** Sorts pods in the order in which they state their topology rules: pending ones, those that have to move, virtual ones; then by name. */
export function inRuleOrder(pods: readonly Pod[]): readonly Pod[] {
  const rank = ({ buffer, nodeName }: Pod) => (buffer !== undefined ? 2 : nodeName !== undefined ? 1 : 0)
  return [...pods].sort((a, b) => rank(a) - rank(b) || byName(a, b))
}

/** Returns everything that a placement depends on (reference/karpenter-core.md 3.2). */
export function schedulingSnapshot(cluster: ClusterObjects, settings: SnapshotSettings): SchedulingSnapshot {
  const storage = storageOf(cluster)
  const candidates = podsToPlace(cluster, settings.now)
  return { ...preparedPods(candidates, { ...cluster, storage }, settings), ...placesOf(cluster, candidates, storage) }
}

interface PodContext extends Pick<ClusterObjects, 'services' | 'controllers'> {
  /** All of the cluster. */
  readonly pods: Iterable<Pod>
  readonly storage: Storage | undefined
}

/** Returns pods for the scheduler: without those that cannot be tried, with default spread and their volumes' requirements. */
export function preparedPods(
  candidates: readonly Pod[],
  { pods: all, services = [], controllers = [], storage }: PodContext,
  settings: SnapshotSettings,
): Pick<SchedulingSnapshot, 'pods' | 'podVolumes' | 'ignored'> {
  const wellKnown = settings.wellKnownLabels ?? wellKnownLabels
  const ignored = new Map<Pod, UnschedulableCause>()
  for (const pod of candidates) {
    settings.inHand?.(pod)
    const cause =
      unresolved(pod, storage) ?? excessive(pod) ?? (pod.nodeName ? undefined : invalid(pod, storage, wellKnown))
    if (cause !== undefined) ignored.set(pod, cause)
  }
  if (storage !== undefined) {
    const waiting = candidates.filter((pod) => !pod.nodeName && !ignored.has(pod))
    const claims = new OncePodClaims(storage, all, waiting)
    for (const pod of waiting) {
      const problem = claims.taken(pod)
      if (problem !== undefined) ignored.set(pod, { kind: 'ignored', reasons: [{ kind: 'volumes', problem }] })
    }
  }
  const defaults = { constraints: settings.defaultSpread ?? [], services, controllers }
  const pods = candidates.filter((pod) => !ignored.has(pod)).map((pod) => withDefaultSpread(pod, defaults))
  const volumes = pods.flatMap((pod) => {
    settings.inHand?.(pod)
    const own = storage?.resolve(pod)
    return own === undefined ? [] : [[pod, own] as const]
  })
  settings.inHand?.(undefined)
  return { pods, podVolumes: new Map(volumes), ignored }
}

function placesOf(cluster: ClusterObjects, placing: readonly Pod[], storage: Storage | undefined) {
  const { nodes, nodeClaims, csiNodes, instanceTypes } = cluster
  const daemonSets = cluster.daemonSets.map((set) => asItRuns(set, cluster.pods)).sort(byName)
  const podsByNode = Map.groupBy(without(cluster.pods, placing), ({ nodeName }) => nodeName ?? '')
  podsByNode.delete('')
  const state = { nodes, nodeClaims, podsByNode, daemonSets, storage, csiNodes, instanceTypes }
  return {
    nodes: schedulableNodes(state),
    occupied: occupiedNodes(state),
    nodePools: poolOptions(cluster, stateNodes(cluster)),
    daemonSets,
    namespaceLabels: namespaceLabels(cluster.namespaces ?? [], new Set(cluster.pods.map(namespaceOf))),
  }
}

/** Returns pods sorted, so that the result is independent of the lists' order. */
function without(pods: readonly Pod[], placing: readonly Pod[]): readonly Pod[] {
  const taken = new Set(placing.map(({ metadata }) => metadata.uid))
  return pods.filter(({ metadata }) => !taken.has(metadata.uid)).sort(byName)
}

export function storageOf(
  cluster: Pick<ClusterObjects, 'persistentVolumeClaims' | 'persistentVolumes' | 'storageClasses'>,
): Storage | undefined {
  const { persistentVolumeClaims, persistentVolumes, storageClasses } = cluster
  if (persistentVolumeClaims === undefined || persistentVolumes === undefined || storageClasses === undefined) {
    return undefined
  }
  return new Storage({ persistentVolumeClaims, persistentVolumes, storageClasses })
}

/** A pod that needs unknown objects must not be placed where it could not run. */
function unresolved(pod: Pod, storage: Storage | undefined): UnschedulableCause | undefined {
  const { persistentVolumeClaims: claims } = pod
  return claims.length === 0 || storage !== undefined ? undefined : { kind: 'volumes-not-looked-up', claims }
}

/** A pod that is not fully known cannot be placed, wherever it is now. */
function excessive({ excess }: Pod): UnschedulableCause | undefined {
  return excess?.refused === undefined ? undefined : { kind: 'too-much', excess: excess.refused }
}

function invalid(
  pod: Pod,
  storage: Storage | undefined,
  wellKnown: ReadonlySet<string>,
): UnschedulableCause | undefined {
  return ignoredBecause(pod, storage?.invalid(pod), wellKnown)
}

/**
 * Returns a DaemonSet with the newest of its own pods, as admission may have changed it. Required node affinity is the template's, because the
 * controller pins each pod to its node (reference/karpenter-core.md 3.7).
 */
export function asItRuns(set: DaemonSet, pods: readonly Pod[]): DaemonSet {
  const newest = pods
    .filter(({ metadata }) => metadata.ownerReferences.some((o) => o.controller === true && o.uid === set.metadata.uid))
    .sort((a, b) => created(b) - created(a) || byName(a, b))[0]
  if (newest === undefined) return set
  const required = set.pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  if (required === undefined) return { ...set, pod: newest }
  const nodeAffinity = { ...newest.affinity?.nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: required }
  return { ...set, pod: { ...newest, affinity: { ...newest.affinity, nodeAffinity } } }
}

export const namespaceOf = ({ metadata }: Pod) => metadata.namespace ?? 'default'

const created = ({ metadata }: Pod) => Date.parse(metadata.creationTimestamp)

export function byName(a: Pick<Pod, 'metadata'>, b: Pick<Pod, 'metadata'>): number {
  const [left, right] = [podName(a), podName(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

/** Returns the pools that may be extended, each with its instance types and its nodes' usage of its limits. */
export function poolOptions(
  cluster: Pick<ClusterObjects, 'nodePools' | 'instanceTypes'>,
  known: readonly StateNode[],
): readonly NodePoolOption[] {
  const usage = usageByPool(known)
  return cluster.nodePools.filter(mayGrow).map((nodePool) => ({
    nodePool,
    instanceTypes: cluster.instanceTypes.get(nodePool.metadata.name) ?? [],
    usage: usage.get(nodePool.metadata.name) ?? {},
  }))
}

function mayGrow({ isStatic, metadata, conditions }: NodePool): boolean {
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  return !isStatic && metadata.deletionTimestamp === undefined && isReady
}

/** Returns capacity of each pool's nodes, in-flight ones included, with their number as `nodes`. */
function usageByPool(known: readonly StateNode[]): ReadonlyMap<string, Resources> {
  const usage = new Map<string, Resources>()
  for (const one of known) {
    const pool = labelsOf(one)[labels.nodePool]
    if (pool === undefined || isLeaving(one.claim, one.node)) continue
    const own = { ...capacityOf(one), nodes: integerQuantity(1) }
    usage.set(pool, mergeResources(usage.get(pool) ?? {}, own))
  }
  return usage
}

/** Every namespace with objects has its name as a label. */
export function namespaceLabels(
  namespaces: readonly Namespace[],
  inhabited: Iterable<string>,
): NonNullable<SchedulingSnapshot['namespaceLabels']> {
  const found = new Map<string, Readonly<Record<string, string>>>()
  const named = (name: string) => ({ 'kubernetes.io/metadata.name': name })
  for (const name of inhabited) found.set(name, named(name))
  for (const { metadata } of namespaces) found.set(metadata.name, { ...named(metadata.name), ...metadata.labels })
  return found
}

/**
 * Returns all reasons to leave out a pod before any attempt; undefined when it can be tried (reference/karpenter-core.md 3.2). `volumes`: the problem
 * of its volumes.
 */
function ignoredBecause(
  pod: Pod,
  volumes: VolumeProblem | undefined,
  wellKnown: ReadonlySet<string>,
): UnschedulableCause | undefined {
  const terms = pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const selected = Object.entries(pod.nodeSelector).map(([key, value]) => ({
    key,
    operator: 'In' as const,
    values: [value],
  }))
  const invalid = (requirement: RequirementSpec): readonly IgnoredReason[] => {
    const errors = requirementErrors(requirement, wellKnown)
    return errors.length === 0 ? [] : [{ kind: 'requirement', requirement, errors }]
  }
  const reasons: readonly IgnoredReason[] = [
    ...(shunsKarpenter(pod) ? [{ kind: 'not-on-karpenter' } as const] : []),
    ...selected.flatMap(invalid),
    ...terms.flatMap(({ matchFields = [], matchExpressions = [] }) => [
      ...(matchFields.length > 0 ? [{ kind: 'match-fields' } as const] : []),
      ...matchExpressions.flatMap(invalid),
    ]),
    ...(volumes === undefined ? [] : [{ kind: 'volumes', problem: volumes } as const]),
  ]
  return reasons.length === 0 ? undefined : { kind: 'ignored', reasons }
}

/** A preference counts as well as a requirement. */
function shunsKarpenter(pod: Pod): boolean {
  const nodePool = podRequirements(pod, { strict: false }).get(labels.nodePool)
  return nodePool !== undefined && operatorOf(nodePool) === 'DoesNotExist'
}

/**
 * Who uses PersistentVolumeClaims that are for one pod at a time (ReadWriteOncePod): kube-scheduler binds no second one. A user that is being deleted
 * gives its claim back in a while, and does not keep its successor from being planned.
 */
class OncePodClaims {
  readonly #storage: Storage
  /** The pod that has each claim, or will have it. */
  readonly #users = new Map<string, Pod>()

  /** `all`: of the cluster; `waiting`: those that are to be bound, of which one gets a free claim. */
  constructor(storage: Storage, all: Iterable<Pod>, waiting: readonly Pod[]) {
    this.#storage = storage
    if (!waiting.some((pod) => storage.oncePodClaims(pod).length > 0)) return
    for (const pod of all) if (pod.nodeName !== undefined && isActive(pod)) this.#take(pod)
    for (const pod of [...waiting].sort(inOrder)) this.#take(pod)
  }

  /** Returns which claim of a pod another one uses; undefined when there is none. */
  taken(pod: Pod): VolumeProblem | undefined {
    for (const claim of this.#storage.oncePodClaims(pod)) {
      const user = this.#users.get(claim)
      if (user !== undefined && user.metadata.uid !== pod.metadata.uid)
        return { kind: 'claim-in-use', claim, pod: podName(user) }
    }
    return undefined
  }

  #take(pod: Pod): void {
    for (const claim of this.#storage.oncePodClaims(pod)) if (!this.#users.has(claim)) this.#users.set(claim, pod)
  }
}

/** The order in which kube-scheduler takes pods up: the most important first, then the oldest. */
function inOrder(a: Pod, b: Pod): number {
  return (
    (b.priority ?? 0) - (a.priority ?? 0) ||
    compareText(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
    compareText(podName(a), podName(b))
  )
}
