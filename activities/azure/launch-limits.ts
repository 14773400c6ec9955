import { ApplicationFailure } from '@temporalio/common'
import { isTrue } from '../../core/conditions.ts'
import { launchDeadline, launchEnd } from '../../core/node-claim/lifecycle.ts'
import { type Limits, limits } from '../../core/node-claim/limits.ts'
import { limitText } from '../../core/values/time.ts'
import type { Step } from '../activity-context.ts'
import { toFailure } from '../failure.ts'
import { cachedClaim, liveClaim } from '../kubernetes/client/object-writes.ts'
import type { ClaimRef } from '../kubernetes/contract.ts'
import { isGoneWithin, type RefusalDeps } from './capacity/refusal.ts'
import type { LaunchOutcome } from './contract.ts'

/** What a launch may still do. `lookOnly`: the time of all attempts is over, so it takes over the VM that is there and creates none. */
export interface LaunchLeave {
  readonly signal: AbortSignal
  readonly lookOnly: boolean
}

interface Attempt {
  readonly ref: ClaimRef
  readonly step: Step
  readonly signal: AbortSignal
  readonly limits?: Limits['launch'] | undefined
}

/**
 * Runs one attempt to launch for as long as its time lasts. What is over by then is a value: the lifecycle observes, and the next attempt finds
 * what this one has left. Once the time of all attempts is over, only Azure's answer that there is no VM ends the launch.
 */
export async function withinLaunchLimits(
  deps: RefusalDeps,
  { ref, step, signal, limits: given = limits.launch }: Attempt,
  launch: (leave: LaunchLeave) => Promise<LaunchOutcome>,
): Promise<LaunchOutcome> {
  const claim = cachedClaim(deps, ref) ?? (await liveClaim(deps, ref))
  if (claim === undefined || deps.now() >= launchEnd(claim, given)) return launch({ signal, lookOnly: true })
  // It has its VM: what is left is to wait for the Node.
  if (isTrue(claim.status.conditions, 'Launched')) return launch({ signal, lookOnly: false })
  const endsAtMs = launchDeadline(claim, step.sinceMs, given)
  const late: LaunchOutcome = { kind: 'late', message: `the attempt had not ended after ${limitText(given.attemptMs)}` }
  if (deps.now() >= endsAtMs) return late
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(new Error(late.message)), endsAtMs - deps.now())
  try {
    return await launch({ signal: AbortSignal.any([signal, over.signal]), lookOnly: false })
  } catch (error) {
    if (signal.aborted) throw error
    const failure = toFailure(error)
    const leftMs = endsAtMs - deps.now()
    if (leftMs > retryDelayMs(failure, step)) throw failure
    // No other try fits into the time of this attempt, which ends with the cause.
    if (leftMs > 0 && (await isGoneWithin(deps, ref, { ms: leftMs, signal }))) return { kind: 'claimGone' }
    return failure instanceof Error ? { ...late, message: failure.message } : late
  } finally {
    clearTimeout(timer)
  }
}

function retryDelayMs(failure: unknown, step: Step): number {
  const named = failure instanceof ApplicationFailure ? failure.nextRetryDelay : undefined
  return typeof named === 'number' ? named : step.retryDelayMs
}
