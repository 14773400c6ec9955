import { conditionOf, dependents } from './conditions.ts'
import type { Condition } from './objects.ts'

const minute = 60_000

/** Events of one group share a budget of events a second. */
export const rateLimits = {
  nomination: { perSecond: 5, burst: 10 },
  lostLaunch: { perSecond: 5, burst: 10 },
  /** States of nodes that pass without any action. */
  passing: { perSecond: 1, burst: 10 },
} as const

interface EventRule {
  readonly type: 'Normal' | 'Warning'
  /** The same reason with the same values is published once within this time. Default: two minutes. */
  readonly dedupeMs?: number
  /** Where the time depends on the kind of the object. */
  readonly dedupeMsByKind?: Readonly<Record<string, number>>
  readonly limit?: keyof typeof rateLimits
  /** Where only the events of one kind of object share a budget. */
  readonly limitByKind?: Readonly<Record<string, keyof typeof rateLimits>>
  /** A reason of Joiner's own, which Karpenter does not have. */
  readonly own?: true
}

/**
 * How events are published, by reason (reference/karpenter-core.md 6.2, reference/azure-provider.md 1.5 and 4.2; the reasons with `own` are
 * Joiner's).
 */
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
  // A pod with more preferences than the scheduler considers.
  PreferencesDropped: { type: 'Warning', dedupeMs: 15 * minute, own: true },
  // An object that is left out of planning because it crashed passes.
  Quarantined: { type: 'Warning', dedupeMs: 15 * minute, own: true },
  // A pod that kube-scheduler does not bind to the nodes that were made for it, with its words.
  NodeRefused: { type: 'Warning', dedupeMs: 5 * minute, own: true },
  NoCompatibleInstanceTypes: { type: 'Warning', dedupeMs: minute },
  Nominated: { type: 'Normal', limit: 'nomination' },
  NodeRepairBlocked: { type: 'Warning', dedupeMs: 15 * minute },
  Disrupted: { type: 'Normal' },
  Evicted: { type: 'Normal' },
  FailedDraining: { type: 'Warning' },
  TerminationGracePeriodExpiring: { type: 'Warning' },
  FailedTermination: { type: 'Warning' },
  FailedConsistencyCheck: { type: 'Warning' },
  InsufficientCapacityError: { type: 'Warning', limitByKind: { Pod: 'lostLaunch' } },
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
  // Launches of an AKSNodeClass fail alike for every size.
  ImageGivenUp: { type: 'Warning', dedupeMs: 5 * minute, own: true },
  CommonLaunchFailure: { type: 'Warning', dedupeMs: 5 * minute, own: true },
  // A pod with preferred node affinity that no node can meet. It stays so until the pod's template changes.
  PreferenceIgnored: { type: 'Warning', own: true, dedupeMs: 24 * 60 * minute },
  // A VM that Azure does not create, for a reason that another offering does not fix.
  LaunchFailed: { type: 'Warning', own: true },
  // A NodeClaim with a value that no node can have.
  InvalidNodeClaim: { type: 'Warning', own: true },
  // A NodeClaim that ends because a deadline has passed.
  LaunchTimeout: { type: 'Warning', own: true },
  RegistrationTimeout: { type: 'Warning', own: true },
  // A running VM whose node does not join, with what Azure reports about it.
  NodeNotJoined: { type: 'Warning', own: true },
  // A NodeClaim whose VM Azure is about to end, with the cause and the time.
  Interrupted: { type: 'Warning', own: true },
  // A NodeClaim that is deleted because its Node was sick for too long.
  NodeRepaired: { type: 'Warning', own: true },
  RebootObserved: { type: 'Normal', dedupeMs: 30 * minute },
  RebootFailed: { type: 'Warning', dedupeMs: 30 * minute },
  // A NodeClaim whose Node is gone while its VM may run; and one that is kept although it should end for that.
  NodeGone: { type: 'Warning', own: true, dedupeMs: 15 * minute },
  NodeGoneWithheld: { type: 'Warning', own: true, dedupeMs: 15 * minute },
  // A Node that finalizers of others hold when its VM is gone, and its NodeClaim.
  NodeHeldByFinalizers: { type: 'Warning', own: true, dedupeMs: 15 * minute },
  // A NodeClaim whose status names a VM that is not its own.
  InstanceNotOwned: { type: 'Warning', own: true },
  // A Node with the provider id of a VM that is not its own.
  ForeignProviderId: { type: 'Warning', own: true, dedupeMs: 15 * minute },
  // A NodeClaim whose VM was deleted outside Joiner, and resources that no lifecycle cleaned up.
  GarbageCollected: { type: 'Warning', own: true },
  // AKS machines that are not managed, though the setting is on; and one that is not proven to be a NodeClaim's.
  AKSMachinesRefused: { type: 'Warning', dedupeMs: 15 * minute, own: true },
  AKSMachineNotAdopted: { type: 'Warning', dedupeMs: 15 * minute, own: true },
  AKSMachineAdopted: { type: 'Normal', own: true },
  // VMs that seem to be garbage but are left alone: there are so many, or pods run on their Nodes.
  GarbageWithheld: { type: 'Warning', dedupeMsByKind: { Node: 15 * minute }, own: true },
  // A Node whose lost NodeClaim was made again, or could not be.
  NodeAdopted: { type: 'Normal', own: true },
  NodeNotAdopted: { type: 'Warning', dedupeMs: 15 * minute, own: true },
  // A ConfigMap with a document that is not as Joiner writes it.
  KeptDocumentDamaged: { type: 'Warning', dedupeMs: 15 * minute, own: true },
  // A disk that seems to be garbage and is not proven to be of this cluster.
  GarbageLeft: { type: 'Normal', dedupeMs: 24 * 60 * minute, own: true },
  // A NodePool or AKSNodeClass that cannot be used, with the remedy. Its author rarely sees conditions.
  NotReady: { type: 'Warning', own: true },
  // A pause of disruption that covers the object, and its end: who, why, until when.
  DisruptionPaused: { type: 'Normal', own: true },
  DisruptionResumed: { type: 'Normal', own: true },
  // An operator's disruption request: requester and outcome.
  ConsolidateNow: { type: 'Normal', own: true },
  PlanApplied: { type: 'Normal', own: true },
  // An operator's request to one NodeClaim's lifecycle: requester, reason and outcome.
  NodeHeld: { type: 'Normal', own: true },
  NodeReleased: { type: 'Normal', own: true },
  RetryNow: { type: 'Normal', own: true },
  ForceFinished: { type: 'Warning', own: true },
  ForceFinishRefused: { type: 'Warning', own: true },
  // The cancellation of one NodeClaim's lifecycle in Temporal, which deletes the NodeClaim or is refused.
  LifecycleCancelled: { type: 'Normal', own: true },
  CancellationRefused: { type: 'Warning', own: true },
  // Capacity reservation groups of an AKSNodeClass that cannot be used, and a NodeClaim whose reservation ended.
  CapacityReservationsNotReady: { type: 'Warning', dedupeMs: 15 * minute, own: true },
  CapacityReservationEnded: { type: 'Warning', own: true },
  // A VM whose tags or identities could not be changed.
  InPlaceUpdateFailed: { type: 'Warning', own: true },
} as const satisfies Readonly<Record<string, EventRule>>

export type EventReason = keyof typeof rules

const defaultDedupeMs = 2 * minute

/** Returns how an event of a reason on an object of a kind is published. */
export function eventRule(
  reason: EventReason,
  kind: string,
): Pick<EventRule, 'type' | 'limit'> & { readonly dedupeMs: number } {
  const rule: EventRule = rules[reason]
  const limit = rule.limitByKind?.[kind] ?? rule.limit
  const dedupeMs = rule.dedupeMsByKind?.[kind] ?? rule.dedupeMs ?? defaultDedupeMs
  return { type: rule.type, dedupeMs, ...(limit === undefined ? {} : { limit }) }
}

/** Returns what makes two events equal (reference/karpenter-core.md 6.2): the reason, whatever its case, and the values, but not the message. */
export function dedupeKey(reason: string, values: readonly string[]): string {
  return [reason.toLowerCase(), ...values].join('-')
}

/**
 * Returns the events for conditions whose status changed; the reason is the condition's type. Ready, and what it follows from, are Unknown until they
 * are set; another condition that is new is no transition (reference/karpenter-core.md 6.2).
 */
export function transitions(
  kind: string,
  before: readonly Condition[],
  after: readonly Condition[],
): readonly { readonly reason: string; readonly message: string }[] {
  return after.flatMap(({ type, status, reason, message }) => {
    const old = conditionOf(before, type)?.status ?? (isAwaited(kind, type) ? 'Unknown' : status)
    if (old === status) return []
    const why = message ? `, Message: ${message}` : ''
    return [
      {
        reason: type,
        message: `Status condition transitioned, Type: ${type}, Status: ${old} -> ${status}, Reason: ${reason ?? ''}${why}`,
      },
    ]
  })
}

/** Whether objects of a kind have a condition from their creation on: Ready, or one that it follows from. */
function isAwaited(kind: string, type: string): boolean {
  const own = Object.entries<readonly string[]>(dependents).find(([one]) => one === kind)
  return type === 'Ready' || own?.[1].includes(type) === true
}
