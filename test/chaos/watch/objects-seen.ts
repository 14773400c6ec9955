import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'

export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly lastTransitionTime?: string
}

export const isGoing = (object: Json) => metaOf(object).deletionTimestamp !== undefined

/** Whether an object has a condition, and it is True. */
export const isTrue = (object: Json, condition: string) =>
  (object as { readonly status?: { readonly conditions?: readonly Condition[] } }).status?.conditions?.some(
    ({ type, status }) => type === condition && status === 'True',
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

/** How many vCPUs the nodes of a NodePool have. */
export const cpusOf = (claims: readonly Json[], pool: string) =>
  claims
    .filter((claim) => metaOf(claim).labels?.['karpenter.sh/nodepool'] === pool)
    .reduce((sum, { status }) => sum + Number((status as { capacity?: { cpu?: string } })?.capacity?.cpu ?? 0), 0)
