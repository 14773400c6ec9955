import type { Pod } from '../objects.ts'
import { taintKeys } from '../requirements/labels.ts'
import { tolerates } from '../taints.ts'
import { protectionOf } from './do-not-disrupt.ts'

/** Returns `namespace/name`, as messages name a pod. */
export function podName(pod: Pick<Pod, 'metadata'>): string {
  return `${pod.metadata.namespace ?? 'default'}/${pod.metadata.name}`
}

/** Whether a pod has ended. */
export function isTerminal({ phase }: Pod): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}

export function isTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined
}

/** Whether a pod has not ended and is not being deleted. */
export function isActive(pod: Pod): boolean {
  return !isTerminal(pod) && !isTerminating(pod)
}

/** Whether a pod is bound to no node and never will be: kube-scheduler passes over pods that have ended or are being deleted. */
export function neverRuns(pod: Pod): boolean {
  return !pod.nodeName && !isActive(pod)
}

const isOwnedBy = ({ metadata }: Pod, kind: string, apiVersion: string) =>
  metadata.ownerReferences.some((owner) => owner.kind === kind && owner.apiVersion === apiVersion)

export function isDaemonPod(pod: Pod): boolean {
  return isOwnedBy(pod, 'DaemonSet', 'apps/v1')
}

/** Whether a kubelet runs the pod from a file: the API server holds only a mirror of it. */
export function isMirrorPod(pod: Pod): boolean {
  return isOwnedBy(pod, 'Node', 'v1')
}

/**
 * Whether a pod waits for capacity: the scheduler has given up on it for now and nothing else will place it
 * (reference/karpenter-core.md 3.1).
 */
export function isProvisionable(pod: Pod): boolean {
  return (
    pod.conditions.some(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable') &&
    !pod.nodeName &&
    !pod.nominatedNodeName &&
    !neverRuns(pod) &&
    !isDaemonPod(pod) &&
    !isMirrorPod(pod)
  )
}

/** Whether a pod needs another place when its node goes (reference/karpenter-core.md 3.2). */
export function isReschedulable(pod: Pod): boolean {
  const needed = isActive(pod) || (isTerminating(pod) && isOwnedBy(pod, 'StatefulSet', 'apps/v1'))
  return needed && !isDaemonPod(pod) && !isMirrorPod(pod)
}

/** Whether the pod's do-not-disrupt annotation holds at `now` (epoch ms). */
export function hasDoNotDisrupt(pod: Pod, now: number): boolean {
  const protection = protectionOf(pod)
  if (protection.kind !== 'timed') return protection.kind === 'always'
  return protection.endsAt === undefined || now < protection.endsAt
}

/** Whether a pod stays on a node that is tainted as disrupted. */
export function toleratesDisruption(pod: Pod): boolean {
  return pod.tolerations.some((toleration) => tolerates(toleration, { key: taintKeys.disrupted, effect: 'NoSchedule' }))
}

/** Whether the eviction API is used for this pod (reference/karpenter-core.md 4.2). */
export function isEvictable(pod: Pod, now: number): boolean {
  return isActive(pod) && !toleratesDisruption(pod) && !isMirrorPod(pod) && !hasDoNotDisrupt(pod, now)
}

/**
 * Returns `namespace/Kind/name` of what a pod belongs to: its controller, the Deployment of a ReplicaSet that carries its hash, the CronJob of a Job with a
 * time in its name, or the pod itself.
 */
export function workloadOf({ metadata }: Pick<Pod, 'metadata'>): string {
  const { namespace = 'default', name, labels: own, ownerReferences } = metadata
  const owner = ownerReferences.find(({ controller }) => controller === true)
  if (owner === undefined) return `${namespace}/Pod/${name}`
  const hash = own['pod-template-hash']
  if (owner.kind === 'ReplicaSet' && hash !== undefined && owner.name.endsWith(`-${hash}`))
    return `${namespace}/Deployment/${owner.name.slice(0, -hash.length - 1)}`
  const cronJob = owner.kind === 'Job' ? /^(.+)-[0-9]{8,}$/.exec(owner.name)?.[1] : undefined
  return cronJob === undefined ? `${namespace}/${owner.kind}/${owner.name}` : `${namespace}/CronJob/${cronJob}`
}
