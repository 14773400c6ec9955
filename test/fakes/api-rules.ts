import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../activities/kubernetes/client/api-error.ts'
import type { LabelSelector } from '../../core/objects.ts'
import { selects } from '../../core/scheduling/topology/label-selector.ts'

/** Resources whose status is written by its own path alone. */
const withStatus: ReadonlySet<string> = new Set([
  'nodes',
  'nodeclaims',
  'nodepools',
  'aksnodeclasses',
  'pods',
  'poddisruptionbudgets',
  'capacitybuffers',
  'nodeoverlays',
  'deployments',
  'replicasets',
  'statefulsets',
  'daemonsets',
  'jobs',
])

/**
 * Returns an object as a create or a patch of it stores it: with the status that it had, if the status has a path of its own. A Node comes with its
 * status, as kubelets register it.
 */
export function keepingStatus(resource: string, object: Json, before?: Json): Json {
  if (!withStatus.has(resource) || (resource === 'nodes' && before === undefined)) return object
  const { status: _, ...rest } = object
  return before !== undefined && 'status' in before ? { ...rest, status: before['status'] } : rest
}

/** Whether a change of an object of this resource makes a new generation of it. */
export function isNewGeneration(resource: string, before: Json, after: Json): boolean {
  return withStatus.has(resource) && !isDeepStrictEqual(before['spec'], after['spec'])
}

/** The API server keeps no empty list or map in an object's metadata. */
export function withoutEmpty<M extends object>(metadata: M): M {
  const kept = { ...metadata }
  for (const key in kept) {
    const value: unknown = kept[key]
    if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) delete kept[key]
  }
  return kept
}

interface PodStatus {
  readonly phase?: string
  readonly conditions?: readonly { readonly type: string; readonly status: string }[]
}

interface BudgetStatus {
  readonly disruptionsAllowed?: number
  readonly currentHealthy?: number
  readonly desiredHealthy?: number
}

/** Returns the budget that an eviction of a pod counts against. Errors: as the API server, when there are several, or none is left. */
export function budgetFor(
  pod: Json,
  budgets: readonly Json[],
): { readonly budget: Json; readonly left: number } | undefined {
  const { labels = {} } = pod['metadata'] as { readonly labels?: Readonly<Record<string, string>> }
  const own = budgets.filter((budget) => {
    const { selector } = budget['spec'] as { readonly selector?: LabelSelector }
    return selects(selector, labels)
  })
  const { phase, conditions = [] } = (pod['status'] ?? {}) as PodStatus
  // A pod that has not started, or has ended, disrupts nothing.
  if (phase === 'Pending' || phase === 'Succeeded' || phase === 'Failed') return undefined
  if (own.length > 1)
    throw new ApiError(500, 'InternalError', 'This pod has more than one PodDisruptionBudget, which is not supported')
  const [budget] = own
  if (budget === undefined) return undefined
  const {
    disruptionsAllowed: left = 0,
    currentHealthy = 0,
    desiredHealthy = 0,
  } = (budget['status'] ?? {}) as BudgetStatus
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  const { unhealthyPodEvictionPolicy: policy } = budget['spec'] as { readonly unhealthyPodEvictionPolicy?: string }
  const isSpare = policy === 'AlwaysAllow' || (desiredHealthy > 0 && currentHealthy >= desiredHealthy)
  if (!isReady && isSpare) return undefined
  if (left <= 0)
    throw new ApiError(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.")
  return { budget, left }
}
