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

/** A pod whose deletion is this long overdue is held by nobody who still answers: draining does not wait for it. */
const stuckAfterMs = 60_000

/** Why a pod keeps its node. */
export type HoldCause =
  /** It is deleted by force, as the time of its claim ends. */
  | 'forced'
  | 'terminating'
  | 'doNotDisrupt'
  /** The eviction API is to be asked for it. */
  | 'eviction'
  /** Its turn comes when those before it are gone. */
  | 'laterTier'

/** A pod that keeps its node. */
export interface HeldBy {
  readonly pod: Pod
  readonly cause: HoldCause
}

export interface DrainPlan {
  /** Nothing on the node is waited for any more. */
  readonly done: boolean
  /** To ask the eviction API for: the first tier that is not empty. */
  readonly evict: readonly Pod[]
  /** To delete whatever budgets and annotations say, with this grace period: the claim's own time is running out. */
  readonly forceDelete: readonly { readonly pod: Pod; readonly gracePeriodSeconds: number }[]
  /** Every pod that keeps the node, and why. */
  readonly heldBy: readonly HeldBy[]
}

/**
 * What to do with the pods of a node that is to go. `pods`: all that are bound to it. Times are epoch ms; without `terminationDeadline`
 * pods have all the time that they take (reference/karpenter-core.md 5.6).
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
  // Those that go by force belong to their tier until they are gone.
  const tier = Math.min(...waiting.map(tierOf))
  const evict = waiting.filter((pod) => !forced.has(pod) && tierOf(pod) === tier && isEvictable(pod, now))
  return {
    done: waiting.length === 0,
    evict,
    forceDelete,
    heldBy: waiting.map((pod) => ({ pod, cause: forced.has(pod) ? 'forced' : holdCause(pod, now, tier) })),
  }
}

/** Whether draining has anything to do with a pod (reference/karpenter-core.md 5.6). */
function isDrainable(pod: Pod, now: number): boolean {
  return !toleratesDisruption(pod) && !isMirrorPod(pod) && !isStuck(pod, now)
}

function isStuck({ metadata }: Pod, now: number): boolean {
  return metadata.deletionTimestamp !== undefined && now > Date.parse(metadata.deletionTimestamp) + stuckAfterMs
}

/** A pod must go by force when, left alone, it would still be there at the deadline. */
function isForceDue(pod: Pod, now: number, deadline: number | undefined): boolean {
  if (deadline === undefined) return false
  const { deletionTimestamp } = pod.metadata
  if (deletionTimestamp !== undefined) return Date.parse(deletionTimestamp) > deadline
  return now > deadline - pod.terminationGracePeriodSeconds * 1000
}

function graceLeft(now: number, deadline: number | undefined): number {
  return Math.max(Math.floor(((deadline ?? now) - now) / 1000), 1)
}

const critical = new Set(['system-cluster-critical', 'system-node-critical'])

/** Order of leaving: what others may depend on goes last. */
function tierOf(pod: Pod): number {
  return (critical.has(pod.priorityClassName ?? '') ? 2 : 0) + (isDaemonPod(pod) ? 1 : 0)
}

function holdCause(pod: Pod, now: number, tier: number): HoldCause {
  if (isTerminating(pod)) return 'terminating'
  if (hasDoNotDisrupt(pod, now)) return 'doNotDisrupt'
  return tierOf(pod) === tier ? 'eviction' : 'laterTier'
}

/** Whether a pod stays on a node that is drained, with its volumes. */
export function staysOnDrainedNode(pod: Pod, now: number): boolean {
  return !isDrainable(pod, now)
}

/**
 * The attachments that must be gone before the VM may be deleted: those of the node, but not of pods that stay on it
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
