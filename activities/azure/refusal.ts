import type { VirtualMachine } from '@azure/arm-compute'
import { setClaimConditions } from '../kubernetes/object-writes.ts'
import { type Attempted, classifyRefusal, type Refusal } from './azure-error.ts'
import { capacityTypeOfVm } from './claim-vm.ts'
import type { ClaimRef } from './contract.ts'
import type { AzureDeps } from './dependencies.ts'
import { regionalZone, zoneLabel, zoneLabelOf } from './zones.ts'

/** Marks the offerings that a refusal speaks of, for every replica. */
export async function markRefused(deps: AzureDeps, attempted: Attempted, refusal: Refusal): Promise<void> {
  const size = deps.catalogue.size(attempted.instanceType)
  const zones = [regionalZone, ...(size?.zones ?? []).map((zone) => zoneLabel(deps.config.location, zone))]
  await deps.unavailable.mark({ ...attempted, family: size?.family ?? '', vCpus: size?.vCpus ?? 0 }, refusal.scope, {
    ttlMs: refusal.ttlMs,
    reason: refusal.reason,
    zones,
  })
}

/** Launched is not True (any more): the claim is being launched (again), and why is said. */
export async function setLaunchedUnknown(
  deps: AzureDeps,
  ref: ClaimRef,
  reason: string,
  message: string,
): Promise<void> {
  await setClaimConditions(deps, ref, () => ({
    conditions: [{ type: 'Launched', status: 'Unknown', reason, message: message.slice(0, 1024) }],
  }))
}

/** Why a VM failed after its PUT was accepted, and as what it was asked for. A capacity failure has marked its offering. */
export interface VmFailure {
  readonly attempted: Attempted
  readonly reason: string
  readonly message: string
  readonly isCapacity: boolean
}

/** Looks into a VM that is Failed. The code stands in its statuses, `ProvisioningState/failed/<code>`. */
export async function judgeFailedVm(deps: AzureDeps, vm: VirtualMachine): Promise<VmFailure> {
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
  const refusal = classifyRefusal(code, status?.message ?? '', attempted)
  if (refusal !== undefined) await markRefused(deps, attempted, refusal)
  return {
    attempted,
    reason: refusal?.reason ?? 'CreateInstanceFailed',
    message: refusal?.remedy ?? `VM ${vm.name} failed with ${code}`,
    isCapacity: refusal !== undefined,
  }
}
