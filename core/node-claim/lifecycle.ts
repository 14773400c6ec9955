import { conditionOf, isTrue } from '../conditions.ts'
import type { Node, NodeClaim } from '../objects.ts'
import { annotations } from '../requirements/labels.ts'
import { durationMs } from '../values/duration.ts'
import { holdOf } from './hold.ts'
import { type Limits, limits } from './limits.ts'
import { type NodeGoneLimits, nodeGoneDue, nodeGoneLimits } from './node-gone.ts'
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
import { hasLostNode } from './node-owner.ts'
import { awayMs } from './time-away.ts'

export interface Steady extends Wake {
  readonly kind: 'steady'
}

/** When a claim at rest is next evaluated, and which action is due then. */
export interface Wake {
  readonly wakeAtMs?: number
  readonly wakeFor?: string
}

/** Next step of a NodeClaim's lifecycle. Times are epoch milliseconds. */
export type LifecycleStep =
  /** `idleSinceMs`: the claim's creation, while no attempt has left a trace in the claim. */
  | { readonly kind: 'launch'; readonly idleSinceMs?: number }
  | { readonly kind: 'awaitRegistration' }
  | { readonly kind: 'awaitInitialization' }
  /** Its VM is to reboot, or reboots (reference/karpenter-1.15.md 5.8). */
  | { readonly kind: 'reboot' }
  /** Nothing to do until something changes, the claim expires, or its Node has been unhealthy for too long. */
  | Steady
  /** The end of the VM is announced: delete the claim, with all pods gone by then. */
  | { readonly kind: 'interrupt'; readonly interruption: Interruption }
  /** The Node has been unhealthy beyond its toleration: delete the claim, unless too many nodes are unhealthy (reference/karpenter-core.md 5.3). */
  | { readonly kind: 'repair'; readonly repair: Repair }
  /** The claim's Node has been gone for too long: delete the claim, if it is not there when it is read live, and not too many are gone. */
  | { readonly kind: 'endWithoutNode' }
  /** The claim is older than its expireAfter: delete it, then evaluate again (reference/karpenter-core.md 4.12). */
  | { readonly kind: 'expire'; readonly expiredAtMs: number }
  | { readonly kind: 'terminate'; readonly deadlineMs?: number }
  | { readonly kind: 'finished' }

/** The Node of a claim, and the rules by which its conditions end the claim. */
export interface NodeView {
  readonly node?: Node | undefined
  readonly rules: NodeRules
  /** When claims end for want of their Nodes. Unset: it is not known whether the Node is gone. */
  readonly nodeGone?: NodeGoneLimits
}

const noNode: NodeView = { rules: noNodeRules }

/** When something is judged, epoch ms. */
export interface Moment {
  readonly now: number
  /** Whether the clock of who judges is wrong, so that nothing expires and nothing is repaired. `now` is the best that is known then. */
  readonly isClockWrong?: boolean
}

/** Type of the failure of a step that ends a node whose claim is not being deleted: a restore of etcd has taken the deletion back, or nobody asked for it. */
export const notBeingDeleted = 'NotBeingDeleted'

/** Returns the next step of the lifecycle of the claim with this UID; `claim` is the present object of its name. */
export function nextStep(
  claim: NodeClaim | undefined,
  { uid, ...moment }: Moment & { readonly uid: string },
  view: NodeView = noNode,
): LifecycleStep {
  const { node, rules } = view
  const { now } = moment
  if (claim === undefined || claim.metadata.uid !== uid) return { kind: 'finished' }
  if (claim.metadata.deletionTimestamp !== undefined) {
    const deadlineMs = terminationDeadline(claim)
    return { kind: 'terminate', ...(deadlineMs === undefined ? {} : { deadlineMs }) }
  }
  const interruption = node && interruptionOf(node, rules, now)
  if (interruption !== undefined) return { kind: 'interrupt', interruption }
  const expiry = expiryDue(claim, now)
  if (hasCome(expiry, moment)) return { kind: 'expire', expiredAtMs: expiry }
  if (view.nodeGone !== undefined && hasLostNode(claim, node)) return withoutNode(claim, moment, view)
  const repair = repairDue(claim, now, { node, rules })
  if (repair !== undefined && hasCome(repair.dueAtMs, moment)) return { kind: 'repair', repair }
  if (isTrue(claim.status.conditions, 'Rebooting')) return { kind: 'reboot' }
  if (!isTrue(claim.status.conditions, 'Launched')) return { kind: 'launch', ...idleSinceCreation(claim) }
  if (!isTrue(claim.status.conditions, 'Registered')) return { kind: 'awaitRegistration' }
  if (!isTrue(claim.status.conditions, 'Initialized')) return { kind: 'awaitInitialization' }
  return { kind: 'steady', ...wakeOf(claim, moment, { node, rules }) }
}

/** Whether the time of what ends a node is over, for certain. */
function hasCome(dueAtMs: number | undefined, { now, isClockWrong = false }: Moment): dueAtMs is number {
  return dueAtMs !== undefined && dueAtMs <= now && !isClockWrong
}

/** Returns the step of a claim whose recorded Node is gone, whatever it waited for. A Node that joined since is registered first. */
function withoutNode(
  claim: NodeClaim,
  moment: Moment,
  { node, rules, nodeGone = nodeGoneLimits }: NodeView,
): LifecycleStep {
  if (node !== undefined) return { kind: 'awaitRegistration' }
  const dueAtMs = nodeGoneDue(claim, moment.now, nodeGone)
  if (dueAtMs !== undefined && dueAtMs <= moment.now) return { kind: 'endWithoutNode' }
  return { kind: 'steady', ...wakeAt(wakeOf(claim, moment, { rules }), dueAtMs) }
}

/** Returns a wake that is not later than the end of a claim whose Node is gone. */
export function wakeAt(wake: Wake, dueAtMs: number | undefined): Wake {
  if (dueAtMs === undefined || (wake.wakeAtMs ?? Number.POSITIVE_INFINITY) <= dueAtMs) return wake
  return { wakeAtMs: dueAtMs, wakeFor: 'the end of a NodeClaim whose Node is gone,' }
}

function idleSinceCreation({ metadata, status }: NodeClaim): { readonly idleSinceMs?: number } {
  const reason = conditionOf(status.conditions, 'Launched')?.reason ?? 'AwaitingReconciliation'
  return reason === 'AwaitingReconciliation' ? { idleSinceMs: Date.parse(metadata.creationTimestamp) } : {}
}

/** Returns the repair of its Node that is due, not before the end of a hold; undefined also while a hold has no end. */
function repairDue(claim: NodeClaim, now: number, { node, rules }: NodeView): Repair | undefined {
  const repair = node && repairOf(node, rules)
  const hold = holdOf(claim, now)
  if (repair === undefined || hold === undefined) return repair
  return hold.untilMs === undefined ? undefined : { ...repair, dueAtMs: Math.max(repair.dueAtMs, hold.untilMs) }
}

/** Returns when a claim at rest must be evaluated again: it expires, its VM is about to end, or its Node will have been unhealthy for too long. */
export function wakeOf(claim: NodeClaim, { now, isClockWrong = false }: Moment, { node, rules }: NodeView): Wake {
  const repair = repairDue(claim, now, { node, rules })
  // What is withheld is looked at again, and not at once.
  const laterThan = (dueAtMs: number | undefined) =>
    dueAtMs === undefined || !isClockWrong ? dueAtMs : Math.max(dueAtMs, now + repairRetryMs)
  const all = [
    { wakeAtMs: node !== undefined && isInterrupted(node, rules) ? now : undefined, wakeFor: 'interruption' },
    { wakeAtMs: laterThan(expiryDue(claim, now)), wakeFor: 'expiry' },
    { wakeAtMs: laterThan(repair?.dueAtMs), wakeFor: `repair, since ${repair?.type} is ${repair?.status},` },
  ]
  return all.reduce<Wake>(
    (first, { wakeAtMs, wakeFor }) =>
      wakeAtMs !== undefined && wakeAtMs < (first.wakeAtMs ?? Number.POSITIVE_INFINITY) ? { wakeAtMs, wakeFor } : first,
    {},
  )
}

/**
 * Returns when a claim without an initialized node must be evaluated, whatever it waits for: it expires, its VM is about to end, or its Node has been
 * unhealthy for too long. For a condition that was already due at `sinceMs` without action, it is later. Undefined: never.
 */
export function nextObservationAt(
  claim: NodeClaim,
  { sinceMs, ...moment }: Moment & { readonly sinceMs: number },
  { node, rules }: NodeView,
): number | undefined {
  const { now } = moment
  const due = repairDue(claim, now, { node, rules })?.dueAtMs
  const isOld = due !== undefined && due <= sinceMs
  const { wakeAtMs } = wakeOf(claim, moment, { node, rules: isOld ? { ...rules, repairs: [] } : rules })
  return isOld ? Math.min(wakeAtMs ?? Number.POSITIVE_INFINITY, sinceMs + repairRetryMs) : wakeAtMs
}

/** Returns since when a condition has had its status; the claim's creation when there is no such condition. */
function transitionOf(claim: NodeClaim, type: string): number {
  return Date.parse(conditionOf(claim.status.conditions, type)?.lastTransitionTime ?? claim.metadata.creationTimestamp)
}

/**
 * Returns when all attempts to launch a claim are over: 15 min after its creation. A launch that is undone (its VM failed later) sets Launched back to
 * Unknown, which must not extend the claim's time.
 */
export function launchEnd(claim: NodeClaim, { claimMs }: Limits['launch'] = limits.launch): number {
  const createdMs = Date.parse(claim.metadata.creationTimestamp)
  return createdMs + claimMs + awayMs(claim, createdMs)
}

/** Returns the deadline of the launch in progress: 5 min after the attempt began, and at most `launchEnd`. */
export function launchDeadline(
  claim: NodeClaim,
  attemptStartedAt: number,
  of: Limits['launch'] = limits.launch,
): number {
  return Math.min(attemptStartedAt + of.attemptMs + awayMs(claim, attemptStartedAt), launchEnd(claim, of))
}

/** Returns the deadline of a launched claim without a Node. Each new launch restarts the clock (reference/karpenter-core.md 5.1). */
export function registrationDeadline(claim: NodeClaim, limitMs: number = limits.registrationMs): number {
  const sinceMs = transitionOf(claim, 'Launched')
  return sinceMs + limitMs + awayMs(claim, sinceMs)
}

/** As much of a claim as its expiry follows from. */
export interface ExpiringClaim extends Pick<NodeClaim, 'metadata'> {
  readonly spec: Pick<NodeClaim['spec'], 'expireAfter'>
}

/** Returns when a claim is deleted for its age; undefined for one that never expires. */
export function expiresAt(claim: ExpiringClaim): number | undefined {
  const lifetime = durationMs(claim.spec.expireAfter)
  return lifetime === undefined ? undefined : Date.parse(claim.metadata.creationTimestamp) + lifetime
}

/** Returns `expiresAt`, but not before the end of a hold that delays expiry as well; undefined while such a hold has no end. */
export function expiryDue(claim: ExpiringClaim, now: number): number | undefined {
  const expiry = expiresAt(claim)
  const hold = holdOf(claim, now)
  if (expiry === undefined || hold?.expiry !== true) return expiry
  return hold.untilMs === undefined ? undefined : Math.max(expiry, hold.untilMs)
}

/**
 * Returns until when pods may delay the end of a claim: the time in its annotation, else its deletion plus terminationGracePeriod. Undefined:
 * unlimited (reference/karpenter-core.md 5.4).
 */
export function terminationDeadline(claim: NodeClaim): number | undefined {
  const { annotations: own, deletionTimestamp } = claim.metadata
  const stamped = Date.parse(own[annotations.terminationTimestamp] ?? '')
  if (!Number.isNaN(stamped)) return stamped
  const grace = durationMs(claim.spec.terminationGracePeriod)
  return grace === undefined || deletionTimestamp === undefined ? undefined : Date.parse(deletionTimestamp) + grace
}
