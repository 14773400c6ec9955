import type { Condition, ObjectMeta } from './objects.ts'
import { compareText } from './values/texts.ts'
import { timeText } from './values/time.ts'

export interface ConditionContext {
  /** RFC 3339 time of the transition, if there is one. */
  readonly now: string
  /** Generation of the object on which the condition was observed. */
  readonly generation: number
}

/** Facts about an object that its conditions depend on, beside what is observed. */
export interface ConditionOwner extends ConditionContext {
  /** RFC 3339 time of the object's creation: its dependents have been unobserved since then. */
  readonly createdAt: string
  readonly deleting: boolean
}

export type ConditionChange = Pick<Condition, 'type' | 'status'> & {
  readonly reason?: string
  readonly message?: string
}

/** The conditions that determine Ready, by kind (reference/karpenter-core.md 1.7, reference/azure-provider.md 1.3). */
export const dependents = {
  NodeClaim: ['Launched', 'Registered', 'Initialized'],
  NodePool: ['ValidationSucceeded', 'NodeClassReady'],
  NodeOverlay: ['ValidationSucceeded'],
  AKSNodeClass: ['KubernetesVersionReady', 'ImagesReady', 'SubnetsReady', 'ValidationSucceeded', 'LocalDNSReady'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type ConditionedKind = keyof typeof dependents

/** The reason of a NodeClaim's condition Launched when it is given up because no offering that it may use has room. */
export const outOfCapacity = 'InsufficientCapacityError'

/** The condition of a NodeClaim whose Node is gone: the others outlive the Node, so they say nothing of what runs there. */
export const nodeGone = 'NodeGone'

/** The condition of a NodeClaim whose status names a VM that is not proven to be its own: False, and absent otherwise. */
export const instanceOwned = 'InstanceOwned'

/** Its reason, and that of a termination which leaves such a VM alone. */
export const instanceNotOwned = 'InstanceNotOwned'

const root = 'Ready'
const neverCleared: ReadonlySet<string> = new Set([root, ...Object.values(dependents).flat()])

/** Returns an object's owner context at a time in epoch milliseconds. Kubernetes' times have whole seconds. */
export function conditionOwner(metadata: ObjectMeta, nowMs: number): ConditionOwner {
  return {
    now: timeText(nowMs),
    generation: metadata.generation ?? 1,
    createdAt: metadata.creationTimestamp,
    deleting: metadata.deletionTimestamp !== undefined,
  }
}

/**
 * Returns the list with one condition set. A True without a reason uses its type as the reason. The transition time moves only when the status
 * changes (reference/karpenter-core.md 1.7). An unchanged condition stays the same object.
 */
export function withCondition(
  conditions: readonly Condition[],
  change: ConditionChange,
  context: ConditionContext,
): readonly Condition[] {
  const { type, status, reason = type, message = '' } = change
  const before = conditionOf(conditions, type)
  const lastTransitionTime = before?.status === status ? (before.lastTransitionTime ?? context.now) : context.now
  if (
    before?.status === status &&
    before.reason === reason &&
    before.message === message &&
    before.lastTransitionTime === lastTransitionTime &&
    before.observedGeneration === context.generation
  )
    return conditions
  const after: Condition = {
    type,
    status,
    reason,
    message,
    lastTransitionTime,
    observedGeneration: context.generation,
  }
  return [...conditions.filter((condition) => condition !== before), after]
}

/** Returns the list without a condition. Errors: throws for a dependent of Ready, which cannot be absent (reference/karpenter-core.md 1.7). */
export function withoutCondition(conditions: readonly Condition[], type: string): readonly Condition[] {
  if (neverCleared.has(type)) throw new Error(`condition ${type}: Ready follows from it; set it to Unknown instead`)
  return conditions.filter((condition) => condition.type !== type)
}

/**
 * Returns the list after changes, with Ready computed from its dependents. It is False when one is False at this generation, else Unknown while one
 * is not True at this generation. Dependents that were never set have waited since the object's creation. Deletion raises an object's generation
 * without a change of its spec, so its conditions count as observed. Sorted by transition, Ready last (reference/karpenter-core.md 1.7). Returns the
 * same list when nothing changes.
 */
export function applyConditions(
  before: readonly Condition[],
  { set = [], clear = [] }: { readonly set?: readonly ConditionChange[]; readonly clear?: readonly string[] },
  owner: ConditionOwner & { readonly kind: ConditionedKind },
): readonly Condition[] {
  const { kind } = owner
  let all = before.map((condition) => (owner.deleting ? seenAt(condition, owner.generation) : condition))
  for (const type of dependents[kind]) if (conditionOf(all, type) === undefined) all = [...all, awaited(type, owner)]
  let after: readonly Condition[] = all
  for (const change of set) after = withCondition(after, change, owner)
  for (const type of clear) after = withoutCondition(after, type)
  const sorted = sortConditions(withCondition(after, readiness(after, dependents[kind], owner), owner))
  return sorted.length === before.length && sorted.every((condition, i) => condition === before[i]) ? before : sorted
}

/** Returns the condition of a type, if the list has it. */
export function conditionOf(conditions: readonly Condition[], type: string): Condition | undefined {
  return conditions.find((condition) => condition.type === type)
}

/** Whether the list says that `type` is True. */
export function isTrue(conditions: readonly Condition[], type: string): boolean {
  return conditionOf(conditions, type)?.status === 'True'
}

/**
 * Whether the list says that `type` is True of the object's present spec. A condition of an earlier spec proves nothing (reference/azure-provider.md
 * 1.3).
 */
export function isTrueAt(conditions: readonly Condition[], type: string, generation: number | undefined): boolean {
  const found = conditionOf(conditions, type)
  return found?.status === 'True' && found.observedGeneration === generation
}

/** Returns why the VM in a NodeClaim's status is not its own, with the remedy; undefined while nothing says so. */
export function whyUnowned(conditions: readonly Condition[]): string | undefined {
  const found = conditionOf(conditions, instanceOwned)
  return found?.status === 'False' ? (found.message ?? '') : undefined
}

function awaited(type: string, { createdAt, generation }: ConditionOwner): Condition {
  return {
    type,
    status: 'Unknown',
    reason: 'AwaitingReconciliation',
    message: 'object is awaiting reconciliation',
    lastTransitionTime: createdAt,
    observedGeneration: generation,
  }
}

function seenAt(condition: Condition, generation: number): Condition {
  return condition.observedGeneration === generation ? condition : { ...condition, observedGeneration: generation }
}

/** The message names the open conditions, the latest transition first (reference/azure-provider.md 1.3). */
function readiness(
  conditions: readonly Condition[],
  types: readonly string[],
  { generation }: ConditionOwner,
): ConditionChange {
  const open = conditions
    .filter((c) => types.includes(c.type) && (c.status !== 'True' || c.observedGeneration !== generation))
    .sort((a, b) => compareText(transitionOf(b), transitionOf(a)))
  const unowned = whyUnowned(conditions)
  if (unowned !== undefined) return { type: root, status: 'False', reason: instanceNotOwned, message: unowned }
  const gone = conditionOf(conditions, nodeGone)
  if (gone?.status === 'True') return { type: root, status: 'Unknown', reason: nodeGone, message: gone.message ?? '' }
  if (open.length === 0) return { type: root, status: 'True' }
  const anyFalse = open.some((c) => c.status === 'False' && c.observedGeneration === generation)
  return {
    type: root,
    status: anyFalse ? 'False' : 'Unknown',
    reason: anyFalse ? 'UnhealthyDependents' : 'ReconcilingDependents',
    message: open.map((c) => `${c.type}=${c.status}`).join(', '),
  }
}

function sortConditions(conditions: readonly Condition[]): readonly Condition[] {
  return [...conditions].sort((a, b) => {
    if ((a.type === root) !== (b.type === root)) return a.type === root ? 1 : -1
    return compareText(transitionOf(a), transitionOf(b))
  })
}

// RFC 3339 times in UTC with whole seconds sort as texts.
const transitionOf = (condition: Condition): string => condition.lastTransitionTime ?? ''
