import type { Condition } from './objects.ts'

export interface ConditionContext {
  /** RFC 3339 time of the transition, should there be one. */
  readonly now: string
  /** Generation of the object that the condition was seen on. */
  readonly generation: number
}

export type ConditionChange = Pick<Condition, 'type' | 'status'> & {
  readonly reason?: string
  readonly message?: string
}

/**
 * The list with one condition set. A True without a reason is its own reason; the transition time moves only when the status changes
 * (reference/karpenter-core.md 1.7).
 */
export function withCondition(
  conditions: readonly Condition[],
  change: ConditionChange,
  { now, generation }: ConditionContext,
): readonly Condition[] {
  const before = conditions.find((condition) => condition.type === change.type)
  const after: Condition = {
    type: change.type,
    status: change.status,
    reason: change.reason ?? change.type,
    message: change.message ?? '',
    lastTransitionTime: before?.status === change.status ? (before.lastTransitionTime ?? now) : now,
    observedGeneration: generation,
  }
  return [...conditions.filter((condition) => condition.type !== change.type), after]
}

/** The list without a condition. */
export function withoutCondition(conditions: readonly Condition[], type: string): readonly Condition[] {
  return conditions.filter((condition) => condition.type !== type)
}

/**
 * The list with `Ready` computed from the conditions it depends on: False when one is False, Unknown while one is not True at this generation.
 * Dependents that were never set appear as Unknown. Sorted by transition, Ready last.
 */
export function withReady(
  conditions: readonly Condition[],
  dependents: readonly string[],
  context: ConditionContext,
): readonly Condition[] {
  let all = conditions
  for (const type of dependents) {
    if (all.some((condition) => condition.type === type)) continue
    all = withCondition(
      all,
      { type, status: 'Unknown', reason: 'AwaitingReconciliation', message: 'object is awaiting reconciliation' },
      context,
    )
  }
  const open = dependents
    .map((type) => all.find((c) => c.type === type) as Condition)
    .filter((c) => c.status !== 'True' || (c.observedGeneration ?? 0) !== context.generation)
  const anyFalse = open.some((c) => c.status === 'False' && c.observedGeneration === context.generation)
  const ready: ConditionChange =
    open.length === 0
      ? { type: 'Ready', status: 'True' }
      : {
          type: 'Ready',
          status: anyFalse ? 'False' : 'Unknown',
          reason: anyFalse ? 'UnhealthyDependents' : 'ReconcilingDependents',
          message: open.map((c) => `${c.type}=${c.status}`).join(', '),
        }
  return sortConditions(withCondition(all, ready, context))
}

function sortConditions(conditions: readonly Condition[]): readonly Condition[] {
  const time = (condition: Condition) => condition.lastTransitionTime ?? ''
  return [...conditions].sort((a, b) => {
    if ((a.type === 'Ready') !== (b.type === 'Ready')) return a.type === 'Ready' ? 1 : -1
    return time(a) < time(b) ? -1 : time(a) > time(b) ? 1 : 0
  })
}

/** The condition of a type, if the list has it. */
export function conditionOf(conditions: readonly Condition[], type: string): Condition | undefined {
  return conditions.find((condition) => condition.type === type)
}

/** Whether the list says that `type` is True. */
export function isTrue(conditions: readonly Condition[], type: string): boolean {
  return conditionOf(conditions, type)?.status === 'True'
}

/** The conditions that a NodeClaim's Ready follows from. */
export const claimDependents = ['Launched', 'Registered', 'Initialized'] as const
