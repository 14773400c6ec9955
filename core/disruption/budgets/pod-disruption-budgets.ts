import type { Pod, PodDisruptionBudget } from '../../objects.ts'
import { isEvictable, podName } from '../../pods/pod-rules.ts'
import { selects } from '../../scheduling/topology/label-selector.ts'
import { labelKey } from '../../scheduling/topology/running-pods.ts'
import type { EvictionBlock } from '../verdicts/cause.ts'

/** Returns why budgets do not allow a pod's eviction now; undefined when they do (reference/karpenter-core.md 4.2). */
export function evictionBlockedBy(
  pod: Pod,
  budgets: readonly PodDisruptionBudget[],
  now: number,
): EvictionBlock | undefined {
  if (!isEvictable(pod, now)) return undefined
  const own = budgetsOf(pod, budgets)
  const isBlocked = own.length > 1 || own.some((one) => one.disruptionsAllowed === 0 && !mayGoUnhealthy(pod, one))
  if (!isBlocked) return undefined
  const kind = own.length > 1 ? 'several-pdbs' : 'pdb'
  return { kind, pod: podName(pod), podDisruptionBudgets: budgetNames(pod, budgets) }
}

/** Returns the budgets that select a pod, as `namespace/name`, sorted. */
export function budgetNames(pod: Pod, budgets: readonly PodDisruptionBudget[]): readonly string[] {
  return budgetsOf(pod, budgets)
    .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
    .sort()
}

/** Whether budgets never allow a pod's eviction, however long one waits: no new place is sought for it (reference/karpenter-core.md 3.2). */
export function isFullyBlocked(pod: Pod, budgets: readonly PodDisruptionBudget[], now: number): boolean {
  if (!isEvictable(pod, now)) return false
  const own = budgetsOf(pod, budgets)
  if (own.length > 1) return true
  return own.some((budget) => allowsNone(budget) && !mayGoUnhealthy(pod, budget))
}

function allowsNone({ maxUnavailable, minAvailable }: PodDisruptionBudget): boolean {
  return maxUnavailable === 0 || maxUnavailable === '0%' || minAvailable === '100%'
}

/** Budgets of one list that select pods of a namespace with the same labels. A large cluster needs them for each of its pods, in every pass. */
const known = new WeakMap<readonly PodDisruptionBudget[], Map<string, readonly PodDisruptionBudget[]>>()
/** A pod object's labels never change. */
const keys = new WeakMap<Pod['metadata'], string>()

function budgetsOf(pod: Pod, budgets: readonly PodDisruptionBudget[]): readonly PodDisruptionBudget[] {
  if (budgets.length === 0) return budgets
  let byKey = known.get(budgets)
  if (byKey === undefined) known.set(budgets, (byKey = new Map()))
  let key = keys.get(pod.metadata)
  if (key === undefined) keys.set(pod.metadata, (key = labelKey(pod)))
  let own = byKey.get(key)
  if (own === undefined) {
    own = budgets.filter(
      ({ metadata, selector }) =>
        metadata.namespace === pod.metadata.namespace && selects(selector, pod.metadata.labels),
    )
    byKey.set(key, own)
  }
  return own
}

function mayGoUnhealthy(pod: Pod, { unhealthyPodEvictionPolicy }: PodDisruptionBudget): boolean {
  return (
    unhealthyPodEvictionPolicy === 'AlwaysAllow' &&
    pod.conditions.some(({ type, status }) => type === 'Ready' && status === 'False')
  )
}
