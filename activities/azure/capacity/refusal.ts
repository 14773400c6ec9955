import type { VirtualMachine } from '@azure/arm-compute'
import type { Logger } from 'pino'
import { isTrue } from '../../../core/conditions.ts'
import { pauseFor } from '../../activity-context.ts'
import type { ObjectWritesDeps } from '../../kubernetes/client/object-writes.ts'
import { cachedClaim, setClaimConditions } from '../../kubernetes/client/object-writes.ts'
import type { ClaimRef } from '../../kubernetes/contract.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import { type Attempted, classifyRefusal, launchFailedReason, type Refusal } from '../arm/azure-error.ts'
import { azureFailure, failureMessage, failureOf } from '../arm/azure-failure.ts'
import type { Failure } from '../arm/azure-failure-rules.ts'
import type { AzureClient } from '../arm/client.ts'
import type { AzureConfig } from '../azure-config.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { regionalZone, zoneLabel, zoneLabelOf } from '../catalogue/zones.ts'
import { capacityTypeOfVm } from '../launch/claim-vm.ts'
import { tagKeys } from '../launch/tags.ts'
import type { VmCreateMetrics } from '../launch/vm-create-metrics.ts'
import { imageIdOf } from '../node-class/images.ts'
import type { UnavailableOfferings } from './unavailable-offerings.ts'

export interface RefusalDeps extends ObjectWritesDeps {
  readonly log: Logger
  readonly azure: AzureClient
  readonly config: AzureConfig
  readonly catalogue: Catalogue
  readonly unavailable: UnavailableOfferings
  readonly vmCreates: VmCreateMetrics
}

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

/** Waits, but not for a claim that is being deleted. Returns whether it is. Rejects when the signal fires. */
export async function isGoneWithin(
  deps: RefusalDeps,
  ref: ClaimRef,
  { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
): Promise<boolean> {
  const over = new AbortController()
  const both = AbortSignal.any([signal, over.signal])
  const gone = deps.cache.waitFor(
    ({ kind, key }) => kind === 'NodeClaim' && key === ref.name,
    () => {
      const claim = cachedClaim(deps, ref)
      return claim === undefined || claim.metadata.deletionTimestamp !== undefined ? true : undefined
    },
    both,
  )
  const waits = [gone, pauseFor(ms, both).then(() => false)]
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

/** Why a VM failed after its PUT was accepted, and the offering it was requested as. A capacity failure has marked its offering. */
export interface VmFailure {
  readonly attempted: Attempted
  readonly reason: string
  readonly message: string
  readonly isCapacity: boolean
  /** Wait before the next attempt: what the failure requires has to happen first. */
  readonly retryAfterMs: number
}

/** Classifies the failure of a VM that is Failed. The code is in its statuses, `ProvisioningState/failed/<code>`. */
export async function judgeFailedVm(deps: RefusalDeps, vm: VirtualMachine): Promise<VmFailure> {
  const detailed = await deps.azure.compute.virtualMachines.get(deps.config.nodeResourceGroup, vm.name ?? '', {
    expand: 'instanceView',
  })
  const status = detailed.instanceView?.statuses?.find((entry) => entry.code?.startsWith('ProvisioningState/failed'))
  const code = status?.code?.split('/')[2] ?? 'UnknownError'
  const attempted: Attempted = {
    instanceType: vm.hardwareProfile?.vmSize ?? '',
    zone: zoneLabelOf(vm),
    capacityType: capacityTypeOfVm(vm),
  }
  const text = status?.message ?? ''
  const nodePool = vm.tags?.[tagKeys.nodePool] ?? ''
  deps.vmCreates.failed(
    { ...attempted, imageId: imageIdOf(vm.storageProfile?.imageReference), nodePool },
    'async',
    code,
  )
  const refusal = classifyRefusal(code, text, attempted)
  if (refusal !== undefined) {
    await markRefused(deps, attempted, refusal)
    return { attempted, reason: refusal.reason, message: refusal.remedy, isCapacity: true, retryAfterMs: 0 }
  }
  const failure = failureOf({ code, text })
  const said = text.split('\n')[0]?.slice(0, 300)
  return {
    attempted,
    reason: launchFailedReason,
    message: `VM ${vm.name} failed: ${failure.reason}: ${failure.remedy}. Azure said: ${code}${said ? `: ${said}` : ''}`,
    isCapacity: false,
    retryAfterMs: failure.retryAfterMs ?? 0,
  }
}
