import { conditionOf, isTrue } from '../conditions.ts'
import type { Node, NodeClaim } from '../objects.ts'
import { annotations } from '../requirements/labels.ts'
import { durationMs } from '../values/duration.ts'
import { holdOf } from './hold.ts'
import {
  type Interruption,
  interruptionOf,
  isInterrupted,
  type NodeRules,
  noNodeRules,
  type Repair,
  repairOf,
  repairRetryMs,
} from './node-health.ts'

const minute = 60_000

/** One attempt to launch may take so long; measured from its start. */
const launchAttemptLimitMs = 5 * minute
/** All attempts of one claim together. */
const launchLimitMs = 15 * minute
/** From Launched=True until the Node has joined. */
const registrationLimitMs = 15 * minute

export interface Steady extends Wake {
  readonly kind: 'steady'
}

/** When a claim that rests is looked at again, and what is due then. */
export interface Wake {
  readonly wakeAtMs?: number
  readonly wakeFor?: string
}

/** What the lifecycle of a NodeClaim should do next. Times are epoch milliseconds. */
export type LifecycleStep =
  | { readonly kind: 'launch'; readonly startedAtMs: number }
  | { readonly kind: 'awaitRegistration'; readonly deadlineMs: number }
  | { readonly kind: 'awaitInitialization' }
  /** Nothing to do until something changes, the claim expires or its Node has been sick for too long. */
  | Steady
  /** The end of the VM is announced: delete the claim, with all pods gone by then. */
  | { readonly kind: 'interrupt'; readonly interruption: Interruption }
  /** The Node has been sick for longer than is tolerated: delete the claim, if no more nodes are (reference/karpenter-core.md 5.3). */
  | { readonly kind: 'repair'; readonly repair: Repair }
  /** The claim is older than its expireAfter: delete it, then look again (reference/karpenter-core.md 4.12). */
  | { readonly kind: 'expire'; readonly expiredAtMs: number }
  | { readonly kind: 'terminate'; readonly deadlineMs?: number }
  | { readonly kind: 'finished' }

/** The Node of a claim, and what of its conditions ends the claim. */
export interface NodeView {
  readonly node?: Node | undefined
  readonly rules: NodeRules
}

const noNode: NodeView = { rules: noNodeRules }

/** The next step of the life that belongs to the claim of this UID; `claim` is what stands under its name now. */
export function nextStep(
  claim: NodeClaim | undefined,
  { uid, now }: { readonly uid: string; readonly now: number },
  { node, rules }: NodeView = noNode,
): LifecycleStep {
  if (claim === undefined || claim.metadata.uid !== uid) return { kind: 'finished' }
  if (claim.metadata.deletionTimestamp !== undefined) {
    const deadlineMs = terminationDeadline(claim)
    return { kind: 'terminate', ...(deadlineMs === undefined ? {} : { deadlineMs }) }
  }
  const interruption = node && interruptionOf(node, rules, now)
  if (interruption !== undefined) return { kind: 'interrupt', interruption }
  const expiry = expiryDue(claim, now)
  if (expiry !== undefined && expiry <= now) return { kind: 'expire', expiredAtMs: expiry }
  const repair = repairDue(claim, now, { node, rules })
  if (repair !== undefined && repair.dueAtMs <= now) return { kind: 'repair', repair }
  if (!isTrue(claim.status.conditions, 'Launched')) return { kind: 'launch', startedAtMs: launchStartedAt(claim) }
  if (!isTrue(claim.status.conditions, 'Registered'))
    return { kind: 'awaitRegistration', deadlineMs: registrationDeadline(claim) }
  if (!isTrue(claim.status.conditions, 'Initialized')) return { kind: 'awaitInitialization' }
  return { kind: 'steady', ...wakeOf(claim, now, { node, rules }) }
}

/** What its Node has to be repaired for, not before the end of a hold; undefined also while a hold has no end. */
function repairDue(claim: NodeClaim, now: number, { node, rules }: NodeView): Repair | undefined {
  const repair = node && repairOf(node, rules)
  const hold = holdOf(claim, now)
  if (repair === undefined || hold === undefined) return repair
  return hold.untilMs === undefined ? undefined : { ...repair, dueAtMs: Math.max(repair.dueAtMs, hold.untilMs) }
}

/** When a claim that rests has to be looked at again: it expires, its VM is about to end, or its Node will have been sick for too long. */
export function wakeOf(claim: NodeClaim, now: number, { node, rules }: NodeView): Wake {
  const repair = repairDue(claim, now, { node, rules })
  const all = [
    { wakeAtMs: node !== undefined && isInterrupted(node, rules) ? now : undefined, wakeFor: 'interruption' },
    { wakeAtMs: expiryDue(claim, now), wakeFor: 'expiry' },
    { wakeAtMs: repair?.dueAtMs, wakeFor: `repair, since ${repair?.type} is ${repair?.status},` },
  ]
  return all.reduce<Wake>(
    (first, { wakeAtMs, wakeFor }) =>
      wakeAtMs !== undefined && wakeAtMs < (first.wakeAtMs ?? Number.POSITIVE_INFINITY) ? { wakeAtMs, wakeFor } : first,
    {},
  )
}

/**
 * When a claim that has not become a node yet must be looked at whatever it waits for: it expires, its VM is about to end, or its Node has
 * been sick for too long; a sickness that was there at `sinceMs` and was not acted on, later. Undefined: never.
 */
export function lookAgainAt(
  claim: NodeClaim,
  { now, sinceMs }: { readonly now: number; readonly sinceMs: number },
  { node, rules }: NodeView,
): number | undefined {
  const due = repairDue(claim, now, { node, rules })?.dueAtMs
  const isOld = due !== undefined && due <= sinceMs
  const { wakeAtMs } = wakeOf(claim, now, { node, rules: isOld ? { ...rules, repairs: [] } : rules })
  return isOld ? Math.min(wakeAtMs ?? Number.POSITIVE_INFINITY, sinceMs + repairRetryMs) : wakeAtMs
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
