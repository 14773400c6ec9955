import { isTrue } from '../../../core/conditions.ts'
import { pauseFor } from '../../activity-context.ts'
import { claimTopic } from '../../kubernetes/cache/change-feed.ts'
import { cachedClaim, setClaimConditions } from '../../kubernetes/client/object-writes.ts'
import type { ClaimRef } from '../../kubernetes/contract.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import type { WriteDeps } from '../../kubernetes/parts.ts'
import { type Attempted, launchFailedReason, type Refusal } from '../arm/azure-error.ts'
import { azureFailure, failureMessage } from '../arm/azure-failure.ts'
import type { Failure } from '../arm/azure-failure-rules.ts'
import { regionalZone, zoneLabel } from '../catalogue/zones.ts'
import type { AzureParts } from '../parts.ts'

export type RefusalDeps = WriteDeps &
  Pick<AzureParts, 'log' | 'azure' | 'config' | 'catalogue' | 'unavailable' | 'vmCreates'>

/** Marks the offerings that a refusal covers, for every replica. */
export async function markRefused(deps: RefusalDeps, attempted: Attempted, refusal: Refusal): Promise<void> {
  const size = deps.catalogue.size(attempted.instanceType)
  const zones = [regionalZone, ...(size?.zones ?? []).map((zone) => zoneLabel(deps.config.location, zone))]
  await deps.unavailable.mark({ ...attempted, family: size?.family ?? '', vCpus: size?.vCpus ?? 0 }, refusal.scope, {
    ttlMs: refusal.ttlMs,
    reason: refusal.reason,
    zones,
  })
}

/** Sets Launched to Unknown with the reason: the claim is being launched (again). */
export async function setLaunchedUnknown(
  deps: RefusalDeps,
  ref: ClaimRef,
  { reason, message }: { readonly reason: string; readonly message: string },
): Promise<void> {
  await setClaimConditions(deps, ref, () => ({
    conditions: [{ type: 'Launched', status: 'Unknown', reason, message: message.slice(0, 1024) }],
  }))
}

/**
 * Reports a failure that is not about capacity: the claim's condition and an event name it and the remedy. Nothing is reported for errors that
 * do not come from Azure, nor for a claim that has its VM.
 */
export async function reportFailure(deps: RefusalDeps, ref: ClaimRef, error: unknown): Promise<void> {
  const failure = azureFailure(error)
  if (failure !== undefined) await writeFailure(deps, ref, { ...failure, message: failureMessage(error, failure) })
}

interface Wait {
  readonly ms: number
  readonly signal: AbortSignal
  /** Resolves when there is nothing to wait for any more. Unset: the time decides. */
  readonly earlier?: ((signal: AbortSignal) => Promise<void>) | undefined
}

/** Waits, but not for a claim that is being deleted. Returns whether it is. Rejects when the signal fires. */
export async function isGoneWithin(deps: RefusalDeps, ref: ClaimRef, { ms, signal, earlier }: Wait): Promise<boolean> {
  const over = new AbortController()
  const both = AbortSignal.any([signal, over.signal])
  const gone = deps.cache.waitFor(
    [claimTopic(ref.name)],
    () => {
      const claim = cachedClaim(deps, ref)
      return claim === undefined || claim.metadata.deletionTimestamp !== undefined ? true : undefined
    },
    both,
  )
  const none = () => false
  const waits = [gone, pauseFor(ms, both).then(none), ...(earlier === undefined ? [] : [earlier(both).then(none)])]
  try {
    return await Promise.race(waits)
  } finally {
    over.abort()
    await Promise.allSettled(waits)
  }
}

async function writeFailure(
  deps: RefusalDeps,
  ref: ClaimRef,
  { reason, retry, message }: Failure & { readonly message: string },
): Promise<void> {
  const claim = cachedClaim(deps, ref)
  if (claim === undefined) return
  deps.log.warn({ nodeClaim: ref.name, reason, retry, why: message }, 'failed to create VM')
  deps.events.record({ about: subject(claim), reason: 'LaunchFailed', message, values: [ref.uid, reason] })
  await setClaimConditions(deps, ref, ({ status }) =>
    isTrue(status.conditions, 'Launched')
      ? undefined
      : {
          conditions: [
            { type: 'Launched', status: 'Unknown', reason: launchFailedReason, message: message.slice(0, 1024) },
          ],
        },
  )
}
