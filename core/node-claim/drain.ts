import type { Pod } from '../objects.ts'
import {
  hasDoNotDisrupt,
  isDaemonPod,
  isEvictable,
  isMirrorPod,
  isTerminal,
  isTerminating,
  toleratesDisruption,
} from '../pods/pod-rules.ts'
import type { VolumeAttachment } from '../pods/related-objects.ts'

/** A pod whose deletion is overdue for this time is held by a party that no longer responds: draining does not wait for it. */
const stuckAfterMs = 60_000

/** Shortest time that a pod has to end: without any the API server forgets it while it may still run. */
const shortestGraceSeconds = 1

/** Why a pod keeps its node. */
export type HoldCause =
  /** It is deleted by force because its claim's time ends. */
  | 'forced'
  | 'terminating'
  | 'doNotDisrupt'
  /** The eviction API must be called for it. */
  | 'eviction'
  /** It waits until earlier tiers are gone. */
  | 'laterTier'

/** A pod that keeps its node. */
export interface HeldBy {
  readonly pod: Pod
  readonly cause: HoldCause
}

export interface DrainPlan {
  /** The drain waits for nothing on the node any more. */
  readonly done: boolean
  /** Pods to evict: the first tier that is not empty. */
  readonly evict: readonly Pod[]
  /** Pods to delete with this grace period despite budgets and annotations: the claim's own time is running out. */
  readonly forceDelete: readonly { readonly pod: Pod; readonly gracePeriodSeconds: number }[]
  /** Every pod that keeps the node, with the cause. */
  readonly heldBy: readonly HeldBy[]
}

/**
 * Decides what to do with the pods of a node that must go. `pods`: all that are bound to it. Times are epoch ms. Without `terminationDeadline` pods
 * have unlimited time (reference/karpenter-core.md 5.6).
 */
export function drainPlan(input: {
  readonly pods: readonly Pod[]
  readonly now: number
  readonly terminationDeadline?: number
}): DrainPlan {
  const { pods, now, terminationDeadline } = input
  const waiting = pods.filter((pod) => isDrainable(pod, now) && !isTerminal(pod))
  const overdue = waiting.filter((pod) => isForceDue(pod, now, terminationDeadline))
  const forceDelete = overdue.map((pod) => ({ pod, gracePeriodSeconds: graceLeft(now, terminationDeadline) }))
  const forced = new Set(overdue)
  // Pods deleted by force belong to their tier until they are gone.
  const tier = Math.min(...waiting.map(tierOf))
  const evict = waiting.filter((pod) => !forced.has(pod) && tierOf(pod) === tier && isEvictable(pod, now))
  return {
    done: waiting.length === 0,
    evict,
    forceDelete,
    heldBy: waiting.map((pod) => ({ pod, cause: forced.has(pod) ? 'forced' : holdCause(pod, now, tier) })),
  }
}

/** Whether draining applies to a pod (reference/karpenter-core.md 5.6). */
function isDrainable(pod: Pod, now: number): boolean {
  return !toleratesDisruption(pod) && !isMirrorPod(pod) && !isStuck(pod, now)
}

function isStuck({ metadata }: Pod, now: number): boolean {
  return metadata.deletionTimestamp !== undefined && now > Date.parse(metadata.deletionTimestamp) + stuckAfterMs
}

/** Whether a pod must be deleted by force, since it would otherwise still exist at the deadline. Not if another request would not end it sooner. */
function isForceDue(pod: Pod, now: number, deadline: number | undefined): boolean {
  if (deadline === undefined) return false
  const { deletionTimestamp } = pod.metadata
  if (deletionTimestamp !== undefined)
    return Date.parse(deletionTimestamp) > Math.max(deadline, now + shortestGraceSeconds * 1000)
  return now > deadline - pod.terminationGracePeriodSeconds * 1000
}

function graceLeft(now: number, deadline: number | undefined): number {
  return Math.max(Math.floor(((deadline ?? now) - now) / 1000), shortestGraceSeconds)
}

const critical = new Set(['system-cluster-critical', 'system-node-critical'])

/** Order of leaving: pods that others may depend on go last. */
function tierOf(pod: Pod): number {
  return (critical.has(pod.priorityClassName ?? '') ? 2 : 0) + (isDaemonPod(pod) ? 1 : 0)
}

function holdCause(pod: Pod, now: number, tier: number): HoldCause {
  if (isTerminating(pod)) return 'terminating'
  if (hasDoNotDisrupt(pod, now)) return 'doNotDisrupt'
  return tierOf(pod) === tier ? 'eviction' : 'laterTier'
}

/** Whether a pod stays on a drained node, with its volumes. */
export function staysOnDrainedNode(pod: Pod, now: number): boolean {
  return !isDrainable(pod, now)
}

/**
 * Returns the attachments that must be gone before the VM may be deleted: those of the node, except of pods that stay on it
 * (reference/karpenter-core.md 5.5). `stayingVolumes`: the persistent volumes of those pods.
 */
export function blockingVolumeAttachments(
  attachments: readonly VolumeAttachment[],
  nodeNames: ReadonlySet<string>,
  stayingVolumes: ReadonlySet<string>,
): readonly VolumeAttachment[] {
  return attachments.filter(
    ({ nodeName, persistentVolumeName }) =>
      nodeNames.has(nodeName) && persistentVolumeName !== undefined && !stayingVolumes.has(persistentVolumeName),
  )
}
