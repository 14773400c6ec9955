import type { Condition } from './objects.ts'

const minute = 60_000

/** Events of one group share a budget of events a second. */
export const rateLimits = {
  nomination: { perSecond: 5, burst: 10 },
} as const

interface EventRule {
  readonly type: 'Normal' | 'Warning'
  /** The same reason with the same values is told once within this time. Without it: two minutes. */
  readonly dedupeMs?: number
  /** Where the time depends on the kind of the object. */
  readonly dedupeMsByKind?: Readonly<Record<string, number>>
  readonly limit?: keyof typeof rateLimits
  /** A reason of Joiner's own, which Karpenter does not know. */
  readonly own?: true
}

/** How events are told, by reason (reference/karpenter-core.md 6.2, azure-provider.md 1.5 and 4.2; the reasons of its own are Joiner's). */
const rules = {
  DisruptionBlocked: { type: 'Normal', dedupeMsByKind: { NodePool: minute } },
  DisruptionLaunching: { type: 'Normal' },
  DisruptionWaitingReadiness: { type: 'Normal' },
  DisruptionTerminating: { type: 'Normal' },
  Unconsolidatable: { type: 'Normal', dedupeMs: 15 * minute },
  ConsolidationCandidate: { type: 'Normal' },
  ConsolidationRejected: { type: 'Normal' },
  ConsolidationApproved: { type: 'Normal' },
  FailedScheduling: { type: 'Warning', dedupeMs: 5 * minute },
  // A pod with more preferences than are looked at.
  PreferencesDropped: { type: 'Warning', dedupeMs: 15 * minute, own: true },
  // An object that is left out of planning, because it crashed passes.
  Quarantined: { type: 'Warning', dedupeMs: 15 * minute, own: true },
  NoCompatibleInstanceTypes: { type: 'Warning', dedupeMs: minute },
  Nominated: { type: 'Normal', limit: 'nomination' },
  NodeRepairBlocked: { type: 'Warning', dedupeMs: 15 * minute },
  Disrupted: { type: 'Normal' },
  Evicted: { type: 'Normal' },
  FailedDraining: { type: 'Warning' },
  TerminationGracePeriodExpiring: { type: 'Warning' },
  FailedTermination: { type: 'Warning' },
  FailedConsistencyCheck: { type: 'Warning' },
  InsufficientCapacityError: { type: 'Warning' },
  UnregisteredTaintMissing: { type: 'Warning' },
  NodeClassNotReady: { type: 'Warning' },
  AwaitingVolumeDetachment: { type: 'Normal' },
  InvalidDoNotDisruptAnnotation: { type: 'Warning' },
  DoNotDisruptUntil: { type: 'Normal' },
  DoNotDisruptGracePeriodElapsed: { type: 'Normal' },
  Finalized: { type: 'Normal' },
  WaitingOnNodeClaimTermination: { type: 'Normal' },
  NodeClassResolutionError: { type: 'Warning' },
  AsyncProvisioningError: { type: 'Warning' },
  // A pod with preferred node affinity that no node can meet. It stays so until somebody changes what makes the pod.
  PreferenceIgnored: { type: 'Warning', own: true, dedupeMs: 24 * 60 * minute },
  // A VM that Azure does not make, for a reason that another offering does not mend.
  LaunchFailed: { type: 'Warning', own: true },
  // A NodeClaim with a value that no node can have.
  InvalidNodeClaim: { type: 'Warning', own: true },
  // A NodeClaim that ends because a deadline is over.
  LaunchTimeout: { type: 'Warning', own: true },
  RegistrationTimeout: { type: 'Warning', own: true },
  // A VM that runs and whose node does not come, with what Azure knows of it.
  NodeNotJoined: { type: 'Warning', own: true },
  // A NodeClaim whose VM Azure is about to end: by what, and when.
  Interrupted: { type: 'Warning', own: true },
  // A NodeClaim that is deleted because its Node was sick for too long.
  NodeRepaired: { type: 'Warning', own: true },
  // A NodeClaim whose VM somebody deleted, and what no lifecycle had cleaned up.
  GarbageCollected: { type: 'Warning', own: true },
  // VMs that look like garbage, and are so many that they are left alone.
  GarbageWithheld: { type: 'Warning', own: true },
  // A disk that looks like a leftover and is not proven to be of this cluster.
  GarbageLeft: { type: 'Normal', dedupeMs: 24 * 60 * minute, own: true },
  // A NodePool or AKSNodeClass that cannot be used, with what to do: conditions alone are not seen by who just applied it.
  NotReady: { type: 'Warning', own: true },
  // A pause of disruption that covers the object, and its end: who, why, until when.
  DisruptionPaused: { type: 'Normal', own: true },
  DisruptionResumed: { type: 'Normal', own: true },
  // What an operator asked of disruption by hand: who, and what came of it.
  ConsolidateNow: { type: 'Normal', own: true },
  PlanApplied: { type: 'Normal', own: true },
  // What an operator asked of one NodeClaim's lifecycle: who, why, and what came of it.
  NodeHeld: { type: 'Normal', own: true },
  NodeReleased: { type: 'Normal', own: true },
  RetryNow: { type: 'Normal', own: true },
  ForceFinished: { type: 'Warning', own: true },
  ForceFinishRefused: { type: 'Warning', own: true },
  // A VM whose tags or identities could not be changed.
  InPlaceUpdateFailed: { type: 'Warning', own: true },
} as const satisfies Readonly<Record<string, EventRule>>

export type EventReason = keyof typeof rules

const defaultDedupeMs = 2 * minute

/** How an event of a reason on an object of a kind is told. */
export function eventRule(
  reason: EventReason,
  kind: string,
): Pick<EventRule, 'type' | 'limit'> & { readonly dedupeMs: number } {
  const rule: EventRule = rules[reason]
  return { ...rule, dedupeMs: rule.dedupeMsByKind?.[kind] ?? rule.dedupeMs ?? defaultDedupeMs }
}

/** What two events must share to be one (reference/karpenter-core.md 6.2): the reason, whatever its case, and the values, but not the message. */
export function dedupeKey(reason: string, values: readonly string[]): string {
  return [reason.toLowerCase(), ...values].join('-')
}

/**
 * What is told of conditions whose status changed; reason is the condition's type. One that was not there before is no transition
 * (reference/karpenter-core.md 6.2).
 */
export function transitions(
  before: readonly Condition[],
  after: readonly Condition[],
): readonly { readonly reason: string; readonly message: string }[] {
  return after.flatMap(({ type, status, reason, message }) => {
    const old = before.find((condition) => condition.type === type)
    if (old === undefined || old.status === status) return []
    const why = message ? `, Message: ${message}` : ''
    return [
      {
        reason: type,
        message: `Status condition transitioned, Type: ${type}, Status: ${old.status} -> ${status}, Reason: ${reason ?? ''}${why}`,
      },
    ]
  })
}
