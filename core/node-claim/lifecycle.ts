import { conditionOf, isTrue } from '../conditions.ts'
import { durationMs } from '../duration.ts'
import { annotations } from '../labels.ts'
import type { NodeClaim } from '../objects.ts'
import { holdOf } from './hold.ts'

const minute = 60_000

/** One attempt to launch may take so long; measured from its start. */
const launchAttemptLimitMs = 5 * minute
/** All attempts of one claim together. */
const launchLimitMs = 15 * minute
/** From Launched=True until the Node has joined. */
const registrationLimitMs = 15 * minute

/** What the lifecycle of a NodeClaim should do next. Times are epoch milliseconds. */
export type LifecycleStep =
  | { readonly kind: 'launch'; readonly startedAtMs: number }
  | { readonly kind: 'awaitRegistration'; readonly deadlineMs: number }
  | { readonly kind: 'awaitInitialization' }
  /** Nothing to do until something changes or the claim expires. */
  | { readonly kind: 'steady'; readonly wakeAtMs?: number }
  /** The claim is older than its expireAfter: delete it, then look again (reference/karpenter-core.md 4.12). */
  | { readonly kind: 'expire'; readonly expiredAtMs: number }
  | { readonly kind: 'terminate'; readonly deadlineMs?: number }
  | { readonly kind: 'finished' }

/** The next step of the life that belongs to the claim of this UID; `claim` is what stands under its name now. */
export function nextStep(claim: NodeClaim | undefined, uid: string, now: number): LifecycleStep {
  if (claim === undefined || claim.metadata.uid !== uid) return { kind: 'finished' }
  if (claim.metadata.deletionTimestamp !== undefined) {
    const deadlineMs = terminationDeadline(claim)
    return { kind: 'terminate', ...(deadlineMs === undefined ? {} : { deadlineMs }) }
  }
  const expiry = expiryDue(claim, now)
  if (expiry !== undefined && expiry <= now) return { kind: 'expire', expiredAtMs: expiry }
  if (!isTrue(claim.status.conditions, 'Launched')) return { kind: 'launch', startedAtMs: launchStartedAt(claim) }
  if (!isTrue(claim.status.conditions, 'Registered'))
    return { kind: 'awaitRegistration', deadlineMs: registrationDeadline(claim) }
  if (!isTrue(claim.status.conditions, 'Initialized')) return { kind: 'awaitInitialization' }
  return { kind: 'steady', ...(expiry === undefined ? {} : { wakeAtMs: expiry }) }
}

/** Since when a condition has been what it is; the claim's creation where there is no such condition. */
function transitionOf(claim: NodeClaim, type: string): number {
  return Date.parse(conditionOf(claim.status.conditions, type)?.lastTransitionTime ?? claim.metadata.creationTimestamp)
}

/**
 * From when on the attempts to launch count: the claim's creation. A launch that is undone (its VM failed later) sets Launched back to
 * Unknown, which must not give the claim more time than it ever had.
 */
function launchStartedAt(claim: NodeClaim): number {
  return Date.parse(claim.metadata.creationTimestamp)
}

/** When the launch in progress is given up: 5 min after the attempt began, and never later than 15 min after the claim was created. */
export function launchDeadline(claim: NodeClaim, attemptStartedAt: number): number {
  return Math.min(attemptStartedAt + launchAttemptLimitMs, launchStartedAt(claim) + launchLimitMs)
}

/**
 * When a launched claim without a Node is given up; each new launch starts the clock again, and so does a registration that has failed
 * (reference/karpenter-core.md 5.1).
 */
export function registrationDeadline(claim: NodeClaim): number {
  const since = registrationFailed(claim) ? 'Registered' : 'Launched'
  return transitionOf(claim, since) + registrationLimitMs
}

/** Whether several Nodes claimed to be its VM: which one is never guessed, nor looked at again. */
export function registrationFailed({ status }: NodeClaim): boolean {
  return conditionOf(status.conditions, 'Registered')?.status === 'False'
}

/** When a claim is deleted for its age; undefined for one that never expires. */
export function expiresAt(claim: NodeClaim): number | undefined {
  const lifetime = durationMs(claim.spec.expireAfter)
  return lifetime === undefined ? undefined : Date.parse(claim.metadata.creationTimestamp) + lifetime
}

/** As `expiresAt`, but not before the end of a hold that holds expiry as well; undefined while such a hold has no end. */
export function expiryDue(claim: NodeClaim, now: number): number | undefined {
  const expiry = expiresAt(claim)
  const hold = holdOf(claim, now)
  if (expiry === undefined || hold?.expiry !== true) return expiry
  return hold.untilMs === undefined ? undefined : Math.max(expiry, hold.untilMs)
}

/**
 * Until when pods may delay the end of a claim: the time in its annotation, else its deletion plus terminationGracePeriod.
 * Undefined: as long as it takes (reference/karpenter-core.md 5.4).
 */
export function terminationDeadline(claim: NodeClaim): number | undefined {
  const { annotations: own, deletionTimestamp } = claim.metadata
  const stamped = Date.parse(own[annotations.terminationTimestamp] ?? '')
  if (!Number.isNaN(stamped)) return stamped
  const grace = durationMs(claim.spec.terminationGracePeriod)
  return grace === undefined || deletionTimestamp === undefined ? undefined : Date.parse(deletionTimestamp) + grace
}
