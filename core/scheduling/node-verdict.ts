import { readyTime, registrationTime } from '../history/claim-facts.ts'
import type { InstanceType } from '../instance-type.ts'
import type { Node, NodeClaim, Pod } from '../objects.ts'
import { hostPortConflict } from '../pods/host-ports.ts'
import { isDaemonPod, isTerminal } from '../pods/pod-rules.ts'
import type { CsiNode } from '../pods/related-objects.ts'
import { annotations } from '../requirements/labels.ts'
import { fits, type Resources, subtractResources } from '../resources.ts'
import { sameTaint, untolerated } from '../taints.ts'
import { entryOf } from '../values/records.ts'
import type { Storage } from './volumes.ts'

/** A joined node that a NodeClaim was made for, with what is known of its room. */
export interface MadeNode {
  readonly claim: NodeClaim
  readonly node: Node
  /** Bound to it, or planned on it. */
  readonly pods: readonly Pod[]
  readonly type?: InstanceType | undefined
  readonly csiNode?: CsiNode | undefined
  readonly storage: Storage
}

/** What kube-scheduler makes of a pod and a node that was made for it and has room for it. */
export type NodeVerdict =
  /** It may still bind the pod. */
  { readonly kind: 'awaited' } | { readonly kind: 'refused'; readonly message: string }

/** kube-scheduler tries a pod again within its longest back-off, 10 s, after a change that may help. */
export const settleMs = 15_000
/** It tries every pod again within 5 minutes, whatever changes. */
const longestMs = 330_000

/** Returns the annotation value that names classes of pods, as many as an annotation should hold. */
export function formatPodClasses(classes: Iterable<string>): string {
  return [...new Set(classes)].slice(0, mostClasses).join(',')
}

const mostClasses = 60
const known = new WeakMap<NodeClaim, ReadonlySet<string>>()

/** Returns the classes of pods that a NodeClaim was planned for. */
export function podClassesOf(claim: NodeClaim): ReadonlySet<string> {
  let classes = known.get(claim)
  if (classes === undefined) {
    classes = new Set((claim.metadata.annotations[annotations.plannedClasses] ?? '').split(',').filter(Boolean))
    known.set(claim, classes)
  }
  return classes
}

/**
 * Returns kube-scheduler's verdict on a node that is initialized; undefined before. kube-scheduler writes its condition only when the text
 * changes, so a text from after the Node's registration that stands once kube-scheduler has had time counts too, and so does one that is equal to
 * an earlier refusal (`before`).
 */
export function nodeVerdict(
  { unschedulable }: Pick<Pod, 'unschedulable'>,
  claim: NodeClaim,
  { now, before }: { readonly now: number; readonly before?: string | undefined },
): NodeVerdict | undefined {
  const { readyMs } = readyTime(claim)
  if (readyMs === undefined) return undefined
  const { atMs, message } = unschedulable ?? { atMs: Number.NEGATIVE_INFINITY, message: '' }
  const { registeredMs = readyMs } = registrationTime(claim)
  const isSettled = now - readyMs >= settleMs
  // Times of the API server have whole seconds.
  const isAfter = atMs >= readyMs + 1000
  const isRefused = isAfter || (isSettled && (atMs >= registeredMs || message === before)) || now - readyMs >= longestMs
  return isRefused ? { kind: 'refused', message } : { kind: 'awaited' }
}

/**
 * Returns kube-scheduler's verdict on a node that was up when a pod was first planned onto it (`sinceMs`), and that it still fits (`lastMs`: the
 * last plan). What kube-scheduler wrote before says nothing of it, unless it is what stood at an earlier refusal (`before`).
 */
export function leftoverVerdict(
  { unschedulable }: Pick<Pod, 'unschedulable'>,
  { sinceMs, lastMs }: { readonly sinceMs: number; readonly lastMs: number },
  before: string | undefined,
): NodeVerdict {
  const { atMs, message } = unschedulable ?? { atMs: Number.NEGATIVE_INFINITY, message: '' }
  const saysNo = atMs >= sinceMs + 1000 || message === before
  const isRefused = lastMs - sinceMs >= (saysNo ? settleMs : longestMs)
  return isRefused ? { kind: 'refused', message } : { kind: 'awaited' }
}

/**
 * Whether a node has room for a pod by what its NodeClaim promises, whatever the node itself reports: room that other pods took is none. A pod
 * whose own rules depend on pods elsewhere has room only where the node falls short of the promise, since these pods may have changed.
 */
export function hasPromisedRoom(pod: Pod, made: MadeNode, isPlannedThere: boolean): boolean {
  const others = made.pods.filter(
    ({ metadata, ...other }) => metadata.uid !== pod.metadata.uid && !isTerminal({ metadata, ...other }),
  )
  const { claim, type } = made
  const promised = { allocatable: claim.status.allocatable, limits: type?.volumeAttachmentLimits ?? {} }
  if (!hasRoom(pod, { ...made, pods: others }, promised)) return false
  if (isPlannedThere || !dependsOnPods([pod, ...others.filter((other) => !isDaemonPod(other))])) return true
  return fallsShort(pod, { ...made, pods: others })
}

interface Amounts {
  readonly allocatable: Resources
  readonly limits: Readonly<Record<string, number>>
}

function hasRoom(pod: Pod, { pods, storage }: MadeNode, { allocatable, limits }: Amounts): boolean {
  if (!fits(pod.requests, subtractResources(allocatable, ...pods.map(({ requests }) => requests)))) return false
  const ports = pods.flatMap(({ hostPorts }) => hostPorts)
  if (hostPortConflict(ports, pod.hostPorts) !== undefined) return false
  if (pod.persistentVolumeClaims.length === 0) return true
  return Object.entries(storage.inUse([...pods, pod])).every(
    ([driver, ids]) => ids.length <= (entryOf(limits, driver) ?? Number.POSITIVE_INFINITY),
  )
}

/** Whether the node as it reports itself refuses a pod for which its NodeClaim has room. */
function fallsShort(pod: Pod, made: MadeNode): boolean {
  const { node, claim, csiNode } = made
  const counts = (csiNode?.drivers ?? []).flatMap(({ name, count }) =>
    count === undefined ? [] : [[name, count] as const],
  )
  const unexpected = node.taints.filter(
    (taint) => taint.effect !== 'PreferNoSchedule' && !claim.spec.taints.some((planned) => sameTaint(planned, taint)),
  )
  return (
    untolerated(unexpected, pod.tolerations).length > 0 ||
    !hasRoom(pod, made, { allocatable: node.allocatable, limits: Object.fromEntries(counts) })
  )
}

/** Whether a rule of one of these pods keeps it apart from, or together with, pods elsewhere. */
function dependsOnPods(pods: readonly Pod[]): boolean {
  return pods.some(
    ({ affinity, topologySpreadConstraints }) =>
      topologySpreadConstraints.some(({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule') ||
      [affinity?.podAffinity, affinity?.podAntiAffinity].some(
        (terms) => (terms?.requiredDuringSchedulingIgnoredDuringExecution ?? []).length > 0,
      ),
  )
}
