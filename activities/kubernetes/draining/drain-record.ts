import { subject } from '../event-recorder.ts'
import type { Parts } from '../parts.ts'
// The one place that records, by events and metrics, that a pod has been drained, a node has been drained and a termination has ended.

import { conditionOf } from '../../../core/conditions.ts'
import type { Node, NodeClaim, Pod } from '../../../core/objects.ts'
import { terminationFinalizer } from '../../../core/requirements/labels.ts'

export type DrainRecordDeps = Pick<Parts, 'events' | 'lifecycleMetrics'>

/** Records an answer to the request for an eviction. `code`: the HTTP status; 200 whenever the pod goes. */
export function evictionAnswered(deps: DrainRecordDeps, code: number): void {
  deps.lifecycleMetrics.evictionAnswered(code)
}

/** Records a pod that the eviction API evicts. `reason`: why its node goes. */
export function podEvicted(deps: DrainRecordDeps, pod: Pod, reason: string): void {
  deps.lifecycleMetrics.podDrained(reason)
  const related = pod.nodeName === undefined ? undefined : { apiVersion: 'v1', kind: 'Node', name: pod.nodeName }
  deps.events.record({
    about: subject(pod),
    reason: 'Evicted',
    message: `Evicted pod: ${reason}`,
    ...(related && { related }),
  })
}

/** Records a pod that was deleted past budgets and annotations, because the time of its claim ends. `why`: why its node goes. */
export function podDeleted(
  deps: DrainRecordDeps,
  pod: Pod,
  {
    gracePeriodSeconds,
    deadlineMs,
    why,
  }: { readonly gracePeriodSeconds: number; readonly deadlineMs: number | undefined; readonly why: string },
): void {
  deps.lifecycleMetrics.podDrained(why)
  const end = deadlineMs === undefined ? 'now' : new Date(deadlineMs).toISOString()
  deps.events.record({
    about: subject(pod),
    reason: 'Disrupted',
    message:
      `Deleting the pod for the termination time ${end} of its node: it has ${gracePeriodSeconds} of its ${pod.terminationGracePeriodSeconds} ` +
      'seconds of grace. PodDisruptionBudgets and karpenter.sh/do-not-disrupt do not hold any more',
  })
}

/** Why the node of a claim goes, for the metrics: what disrupted it, or that it was deleted. */
export function leavingReason({ status }: NodeClaim): string {
  return conditionOf(status.conditions, 'DisruptionReason')?.reason ?? 'Forceful Termination'
}

/** Records a pod that was deleted because its machine does not exist. */
export function podLost(deps: DrainRecordDeps, pod: Pod, why: string): void {
  deps.lifecycleMetrics.podDrained(why)
  const message = `Deleting the pod: the VM of its node ${pod.nodeName} is gone`
  deps.events.record({ about: subject(pod), reason: 'Disrupted', message })
}

/** Records that the last pod has left the Nodes of a claim. */
export function nodeDrained(deps: DrainRecordDeps, claim: NodeClaim): void {
  deps.lifecycleMetrics.nodeDrained(claim)
}

/** Records that a Node's finalizer is gone. `node`: as it was before. */
export function nodeTerminated(deps: DrainRecordDeps, node: Node, claim: NodeClaim): void {
  publishFinalized(deps, node)
  deps.lifecycleMetrics.nodeTerminated(node, claim)
}

/** Records that a claim's finalizer is gone, the end of its lifecycle. `claim`: as it was before. */
export function claimTerminated(deps: DrainRecordDeps, claim: NodeClaim): void {
  publishFinalized(deps, claim)
  deps.lifecycleMetrics.nodeClaimTerminated(claim)
}

function publishFinalized(deps: DrainRecordDeps, object: Node | NodeClaim): void {
  if (!object.metadata.finalizers.includes(terminationFinalizer)) return
  deps.events.record({ about: subject(object), reason: 'Finalized', message: `Finalized ${terminationFinalizer}` })
}
