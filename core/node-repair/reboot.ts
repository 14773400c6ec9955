import { conditionOf } from '../conditions.ts'
import { type Limits, limits } from '../node-claim/limits.ts'
import { awayMs } from '../node-claim/time-away.ts'
import type { NodeClaim } from '../objects.ts'
import { annotations } from '../requirements/labels.ts'
import { parseGoDuration } from '../values/duration.ts'
import { timeText } from '../values/time.ts'
import { recentReboots } from './node-repair.ts'

/** Shortest time of the drain, for pods that are bound at the last moment. */
const shortestDrainMs = 5000

/** A reboot of a claim's VM that is under way. */
export interface Reboot {
  readonly phase: 'requested' | 'issued'
  /** Epoch ms. */
  readonly requestedMs: number
  /** How long pods have to leave, in milliseconds. Undefined: as long as they need. */
  readonly bound: number | undefined | 'invalid'
  /** The boot ID of the Node before; unset until the restart is about to be asked for. */
  readonly preBootId?: string
}

/** Why a reboot failed, as metrics name it. */
export type RebootFailure = 'provider_error' | 'recovery_timeout' | 'invalid_request'

/** Returns the reboot of a claim's VM that is under way; undefined when there is none, or the claim is being deleted. */
export function rebootOf({ metadata, status }: NodeClaim): Reboot | undefined {
  const condition = conditionOf(status.conditions, 'Rebooting')
  if (condition?.status !== 'True' || metadata.deletionTimestamp !== undefined) return undefined
  const { [annotations.rebootPreBootId]: preBootId } = metadata.annotations
  return {
    phase: condition.reason === 'RebootIssued' ? 'issued' : 'requested',
    // The reason changes when it is issued; the time is that of the status.
    requestedMs: Date.parse(condition.lastTransitionTime ?? metadata.creationTimestamp),
    bound: rebootBound(metadata.annotations[annotations.rebootBound]),
    ...(preBootId === undefined ? {} : { preBootId }),
  }
}

function rebootBound(text: string | undefined): Reboot['bound'] {
  if (text === undefined) return undefined
  const nanoseconds = parseGoDuration(text)
  return nanoseconds === undefined || nanoseconds < 0n ? 'invalid' : Number(nanoseconds / 1_000_000n)
}

/** Returns until when pods are drained (epoch ms): at least for a while, even where there are none. `shortest` is over when that is. */
export function drainTimes({ requestedMs, bound }: Reboot): { readonly shortest: number; readonly longest: number } {
  if (bound === 0) return { shortest: requestedMs, longest: requestedMs }
  const shortest = requestedMs + shortestDrainMs
  const longest = typeof bound === 'number' ? Math.max(requestedMs + bound, shortest) : Number.POSITIVE_INFINITY
  return { shortest, longest }
}

/** Returns until when a claim without a Node may wait for its reboot, epoch ms. */
export function issueDeadline(
  claim: NodeClaim,
  { requestedMs }: Reboot,
  { issueMs }: Limits['reboot'] = limits.reboot,
): number {
  return requestedMs + issueMs + awayMs(claim, requestedMs)
}

/** Returns when the VM was restarted last, epoch ms; before that, when it was requested. */
export function rebootedSince(claim: NodeClaim, { requestedMs }: Reboot, now: number): number {
  return recentReboots(claim, now).at(-1) ?? requestedMs
}

/** Returns until when the Node has to be ready again, epoch ms. */
export function recoveryDeadline(
  claim: NodeClaim,
  sinceMs: number,
  { recoveryMs }: Limits['reboot'] = limits.reboot,
): number {
  return sinceMs + recoveryMs + awayMs(claim, sinceMs)
}

/** Returns the annotations that keep what a restart needs to be asked for only once. `seen`: what Azure reports of the VM before. */
export function restartRecord(
  claim: NodeClaim,
  { bootId, seen, now }: { readonly bootId: string; readonly seen: string; readonly now: number },
): Readonly<Record<string, string>> {
  const times = [...recentReboots(claim, now), now].map((time) => timeText(time))
  return {
    [annotations.rebootPreBootId]: bootId,
    [annotations.rebootRequest]: seen,
    [annotations.reboots]: times.join(','),
  }
}

/**
 * Whether a restart was asked for already: something has happened to the VM since the record was written. Where Azure reported no time, that is
 * not known, and the restart is not asked for twice.
 */
export function isRestartAsked({ metadata }: NodeClaim, seenNow: string): boolean {
  const { [annotations.rebootRequest]: before } = metadata.annotations
  return before !== undefined && (before === '' || before !== seenNow)
}

/** Whether a claim has the record of a restart, which may have been asked for since. */
export function isRecorded({ metadata }: Pick<NodeClaim, 'metadata'>): boolean {
  return metadata.annotations[annotations.rebootRequest] !== undefined
}

/** The annotations of a reboot that is over, for removal. */
export const rebootTraces: Readonly<Record<string, null>> = {
  [annotations.rebootPreBootId]: null,
  [annotations.rebootRequest]: null,
  [annotations.rebootBound]: null,
}
