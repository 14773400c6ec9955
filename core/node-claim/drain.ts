import type { Pod, VolumeAttachment } from '../objects.ts'
import {
  hasDoNotDisrupt,
  isDaemonPod,
  isEvictable,
  isMirrorPod,
  isTerminal,
  isTerminating,
  toleratesDisruption,
} from '../pod-rules.ts'

/** A pod whose deletion is this long overdue is held by nobody who still answers: draining does not wait for it. */
const stuckAfterMs = 60_000

export interface DrainPlan {
  /** Nothing on the node is waited for any more. */
  readonly done: boolean
  /** To ask the eviction API for: the first tier that is not empty. */
  readonly evict: readonly Pod[]
  /** To delete whatever budgets and annotations say, with this grace period: the claim's own time is running out. */
  readonly forceDelete: readonly { readonly pod: Pod; readonly gracePeriodSeconds: number }[]
  /** Every pod that keeps the node, and why. */
  readonly waitingFor: readonly { readonly pod: Pod; readonly reason: string }[]
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
  const graceful = waiting.filter((pod) => !forced.has(pod))
  const tier = Math.min(...graceful.map(tierOf))
  const evict = graceful.filter((pod) => tierOf(pod) === tier && isEvictable(pod, now))
  return {
    done: waiting.length === 0,
    evict,
    forceDelete,
    waitingFor: waiting.map((pod) => ({ pod, reason: waitReason(pod, now, tier, forced.has(pod)) })),
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

function waitReason(pod: Pod, now: number, tier: number, forced: boolean): string {
  if (forced) return 'is deleted by force, because the terminationGracePeriod of its NodeClaim ends'
  if (isTerminating(pod)) return 'is terminating'
  if (hasDoNotDisrupt(pod, now)) return 'has the annotation karpenter.sh/do-not-disrupt'
  return tierOf(pod) === tier ? 'is to be evicted' : 'leaves after the pods of a lower tier'
}

/**
 * The attachments that must be gone before the VM may be deleted: those of the node, but not of pods that stay on it
 * (reference/karpenter-core.md 5.5). `volumesOf` answers which persistent volumes a pod uses. After the deadline none blocks.
 */
export function blockingVolumeAttachments(input: {
  readonly attachments: readonly VolumeAttachment[]
  readonly nodeName: string
  readonly pods: readonly Pod[]
  readonly volumesOf: (pod: Pod) => readonly string[]
  readonly now: number
  readonly terminationDeadline?: number
}): readonly VolumeAttachment[] {
  const { attachments, nodeName, pods, volumesOf, now, terminationDeadline } = input
  if (terminationDeadline !== undefined && now >= terminationDeadline) return []
  const staying = new Set(pods.filter((pod) => !isDrainable(pod, now)).flatMap(volumesOf))
  return attachments.filter((attachment) => {
    const volume = attachment.persistentVolumeName
    return attachment.nodeName === nodeName && volume !== undefined && !staying.has(volume)
  })
}
