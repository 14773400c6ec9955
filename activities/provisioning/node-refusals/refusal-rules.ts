import { createHash } from 'node:crypto'
import { readyTime } from '../../../core/history/claim-facts.ts'
import { type NodeRefusal, nextClaimAt } from '../../../core/node-refusals.ts'
import type { NodeClaim, Pod } from '../../../core/objects.ts'
import { podClassesOf, settleMs } from '../../../core/scheduling/node-verdict.ts'
import { timeText } from '../../../core/values/time.ts'
import type { ClusterCache } from '../../kubernetes/cache/cluster-cache.ts'
import { podClass } from '../../scheduler-thread/pod-fingerprint.ts'
import { poolState } from '../refused-claims.ts'

/** Returns what is to be known of a refusal, in one sentence. */
export function refusalText(refusal: NodeRefusal): string {
  const { refused, message } = refusal
  return `kube-scheduler did not bind such pods to ${refused.length} ${refused.length === 1 ? 'node that was' : 'nodes that were'} made for them and had room, the last of NodeClaim ${refused.at(-1)}; the next is tried from ${timeText(nextClaimAt(refusal))} on, or when pod, NodePool or AKSNodeClass change; kube-scheduler says: ${message}`
}

/** Whether a NodeClaim was made for pods like this one, which was there before its node was initialized. */
export function madeFor(cache: ClusterCache, pod: Pod, claim: NodeClaim): boolean {
  const { readyMs } = readyTime(claim)
  return (
    readyMs !== undefined &&
    Date.parse(pod.metadata.creationTimestamp) <= readyMs &&
    podClassesOf(claim).has(podClass(cache, pod))
  )
}

/** Returns the NodeClaim that was created last, until kube-scheduler has had time to accept its node. */
export function probeOf(cache: ClusterCache, { claims, refused }: NodeRefusal, now: number): string | undefined {
  const [last = ''] = Object.entries(claims).sort(([, a], [, b]) => b - a)[0] ?? []
  const claim = cache.nodeClaims.get(last)
  if (claim === undefined || refused.includes(last) || claim.metadata.deletionTimestamp !== undefined) return undefined
  const { readyMs = now } = readyTime(claim)
  return now - readyMs < settleMs ? last : undefined
}

/** Returns the state of all NodePools that may get a node for pods, and of their classes. */
export function poolsState(cache: ClusterCache): string {
  const names = [...cache.nodePools.values()].filter(({ isStatic }) => !isStatic).map(({ metadata }) => metadata.name)
  const states = names.sort().map((name) => poolState(cache, name))
  return createHash('sha256').update(states.join('\n')).digest('hex').slice(0, 16)
}
