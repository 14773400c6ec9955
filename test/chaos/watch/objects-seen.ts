import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Scene } from '../scene.ts'

export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly lastTransitionTime?: string
}

export const isGoing = (object: Json) => metaOf(object).deletionTimestamp !== undefined

/** Whether an object has a condition, and it is True. `sinceMs`: by then, epoch ms. */
export const isTrue = (object: Json, condition: string, sinceMs = Number.POSITIVE_INFINITY) =>
  (object as { readonly status?: { readonly conditions?: readonly Condition[] } }).status?.conditions?.some(
    ({ type, status, lastTransitionTime = '' }) =>
      type === condition && status === 'True' && !(Date.parse(lastTransitionTime) > sinceMs),
  ) === true

interface PodSeen extends Json {
  readonly spec?: { readonly nodeName?: string }
  readonly status?: { readonly conditions?: readonly Condition[] }
}

/** Whether kube-scheduler has found no node for a pod. `sinceMs`: by then, epoch ms. */
export function isWaiting(pod: Json, sinceMs = Number.POSITIVE_INFINITY): boolean {
  const { spec, status }: PodSeen = pod
  const found = status?.conditions?.find(({ type }) => type === 'PodScheduled')
  const isFound = found?.reason === 'Unschedulable' && Date.parse(found.lastTransitionTime ?? '') <= sinceMs
  return spec?.nodeName === undefined && !isGoing(pod) && isFound
}

/**
 * How many vCPUs the nodes of a NodePool have. A NodeClaim that has not heard of its VM counts with the Node that joined for it: the answer to its PUT was
 * lost, and Joiner may have to wait for Azure's deletion of that VM. One without either counts with what its pods request (docs/placement.md). A Node
 * that lost its NodeClaim has its room until it gets another.
 */
export function cpusOf(scene: Scene, pool: string): number {
  const { objects } = scene.fast.cluster.server
  const isOfPool = (object: Json) => metaOf(object).labels?.['karpenter.sh/nodepool'] === pool
  const claims = objects.of('nodeclaims').filter(isOfPool)
  const nodes = new Map(objects.of('nodes').map((node) => [metaOf(node).name, node]))
  const ofClaims = claims.map((claim) => ({ claim, node: nodes.get(scene.vmNameOf(metaOf(claim).name)) }))
  const claimed = new Set(ofClaims.map(({ node }) => node))
  const lost = [...nodes.values()].filter((node) => isOfPool(node) && !claimed.has(node))
  return [
    ...ofClaims.map(({ claim, node }) => cpuOf(claim) ?? (node && cpuOf(node)) ?? requestedCpu(claim)),
    ...lost.map((node) => cpuOf(node) ?? 0),
  ].reduce((sum, cpus) => sum + cpus, 0)
}

/** How many vCPUs the pods of a NodeClaim request. */
export function requestedCpu({ spec }: Json): number {
  const { resources } = (spec ?? {}) as { readonly resources?: { readonly requests?: { readonly cpu?: string } } }
  return vcpus(resources?.requests?.cpu ?? '0')
}

/** Returns a quantity in whole vCPUs or in thousandths as a number. */
function vcpus(quantity: string): number {
  return quantity.endsWith('m') ? Number.parseInt(quantity, 10) / 1000 : Number(quantity)
}

/** How many vCPUs a NodeClaim or a Node says it has. */
export function cpuOf({ status }: Json): number | undefined {
  const { capacity } = (status ?? {}) as { readonly capacity?: { readonly cpu?: string } }
  return capacity?.cpu === undefined ? undefined : Number(capacity.cpu)
}
