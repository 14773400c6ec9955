import type { VirtualMachine } from '@azure/arm-compute'
import { isCalledOff, isRecorded, isRestartAsked, restartRecord } from '../../../core/node-repair/reboot.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { pauseFor } from '../../activity-context.ts'
import { liveClaim, setClaimConditions, updateClaim } from '../../kubernetes/client/object-writes.ts'
import { lockedPatch } from '../../kubernetes/client/optimistic-write.ts'
import type { ClaimRef, PreparedReboot } from '../../kubernetes/contract.ts'
import { readNode } from '../../kubernetes/lifecycle/claim-nodes.ts'
import type { NodeHealthDeps } from '../../kubernetes/lifecycle/node-health.ts'
import { openReboot } from '../../kubernetes/rebooting/prepare-reboot.ts'
import { heardOut } from '../arm/azure-failure.ts'
import { type ClaimVmDeps, claimIdentity, findClaimVm } from '../launch/claim-vm.ts'
import { vmName } from '../launch/virtual-machine.ts'

export interface RestartDeps extends ClaimVmDeps, NodeHealthDeps {}

const pollMs = 2000

/**
 * Restarts the VM of a claim that is to reboot, if its tags prove that it is the claim's. Before the request the claim records what Azure reports
 * of the VM, so that an attempt after a crash finds whether the request was accepted.
 */
export async function restartInstance(deps: RestartDeps, ref: ClaimRef, signal: AbortSignal): Promise<PreparedReboot> {
  const claim = await liveClaim(deps, ref)
  const reboot = openReboot(deps, claim, ref.uid)
  if (claim === undefined || reboot === undefined) return { kind: 'over' }
  if (reboot.phase === 'issued') return { kind: 'issued' }
  if (isCalledOff(claim, deps.now())) return { kind: 'over' }
  const failed = (message: string): PreparedReboot => ({ kind: 'failed', result: 'provider_error', message })
  const found = await findClaimVm(deps, ref.name, claimIdentity(claim))
  if (found.kind !== 'own') return failed(`VM ${vmName(ref.name)} ${found.kind === 'none' ? 'is gone' : found.why}`)
  const bootId = (await readNode(deps, claim))?.bootId ?? ''
  const hasBooted = reboot.preBootId !== undefined && bootId !== '' && bootId !== reboot.preBootId
  if (hasBooted) return issued(deps, claim)
  // Without it the boot could not be noticed.
  if (bootId === '' && !isRecorded(claim))
    throw new Error(`Node of NodeClaim ${ref.name}: status.nodeInfo.bootID is not set; its kubelet must report it`)
  const seen = await settledTime(deps, ref, signal)
  if (seen === undefined) return failed(`VM ${vmName(ref.name)} is gone`)
  if (isRestartAsked(claim, seen)) return issued(deps, claim)
  const recorded = await updateClaim(deps, ref, (current) => {
    if (current.metadata.deletionTimestamp !== undefined || isRecorded(current)) return undefined
    if (isCalledOff(current, deps.now())) return undefined
    const record = restartRecord(current, { bootId, seen, now: deps.now() })
    return lockedPatch({ metadata: { annotations: record } }, current.metadata)
  })
  // A claim that is being deleted has no record: its pods still have their grace periods. Nor has one that is held by then.
  if (recorded === undefined || !isRecorded(recorded) || recorded.metadata.deletionTimestamp !== undefined)
    return { kind: 'over' }
  // An attempt that was given up by now leaves the request to its successor.
  signal.throwIfAborted()
  const { virtualMachines } = deps.azure.compute
  await heardOut(virtualMachines.restart(deps.config.nodeResourceGroup, vmName(ref.name)).submitted())
  return issued(deps, claim)
}

/** Waits until nothing is going on with a VM. Returns when the last thing was; undefined when the VM is gone. */
async function settledTime(deps: RestartDeps, { name }: ClaimRef, signal: AbortSignal): Promise<string | undefined> {
  for (;;) {
    const vm = await deps.cloudProvider.measure({ method: 'Get' }, () =>
      deps.azure.compute.virtualMachines.get(deps.config.nodeResourceGroup, vmName(name), { expand: 'instanceView' }),
    )
    if (vm.provisioningState === 'Deleting') return undefined
    if (vm.provisioningState !== 'Updating' && vm.provisioningState !== 'Creating') return provisioningTime(vm)
    await pauseFor(pollMs, signal)
  }
}

function provisioningTime({ instanceView }: VirtualMachine): string {
  const status = instanceView?.statuses?.find(({ code }) => code?.startsWith('ProvisioningState/'))
  return status?.time?.toISOString() ?? ''
}

async function issued(deps: RestartDeps, { metadata }: NodeClaim): Promise<PreparedReboot> {
  await setClaimConditions(deps, metadata, ({ status }) => {
    const before = status.conditions.find(({ type }) => type === 'Rebooting')
    if (before?.status !== 'True' || before.reason === 'RebootIssued') return undefined
    const { message = '' } = before
    return { conditions: [{ type: 'Rebooting', status: 'True', reason: 'RebootIssued', message }] }
  })
  return { kind: 'issued' }
}
