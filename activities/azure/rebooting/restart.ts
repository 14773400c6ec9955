import type { VirtualMachine } from '@azure/arm-compute'
import { holdOf } from '../../../core/node-claim/hold.ts'
import { isRecorded, isRestartAsked, restartRecord } from '../../../core/node-repair/reboot.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { pauseFor, type Step } from '../../activity-context.ts'
import { liveClaim, setClaimConditions, updateClaim } from '../../kubernetes/client/object-writes.ts'
import { lockedPatch } from '../../kubernetes/client/optimistic-write.ts'
import type { ClaimRef, PreparedReboot } from '../../kubernetes/contract.ts'
import { readNode } from '../../kubernetes/lifecycle/claim-nodes.ts'
import type { NodeHealthDeps } from '../../kubernetes/lifecycle/node-health.ts'
import { openReboot } from '../../kubernetes/rebooting/prepare-reboot.ts'
import { heardOut, lostRequestMs } from '../arm/azure-failure.ts'
import { type ClaimVmDeps, claimIdentity, findClaimVm } from '../launch/claim-vm.ts'
import { vmName } from '../launch/virtual-machine.ts'

export interface RestartDeps extends ClaimVmDeps, NodeHealthDeps {}

const pollMs = 2000
/** How often it is looked whether the request of a lost attempt has taken effect. */
const lookMs = 5000
/** Time from the last look at the claim within which the restart is asked for. An attempt that stood still for longer has a successor. */
const freshMs = 5000

interface Restart extends Pick<Step, 'followsFailure'> {
  readonly ref: ClaimRef
}

/**
 * Restarts the VM of a claim that is to reboot, if its tags prove that it is the claim's. Before the request the claim records what Azure reports
 * of the VM, so that an attempt after a crash finds whether the request was accepted. What a lost attempt may have asked for is waited for: a second
 * restart would hit the pods that came back after the first.
 */
export async function restartInstance(
  deps: RestartDeps,
  { ref, followsFailure }: Restart,
  signal: AbortSignal,
): Promise<PreparedReboot> {
  const claim = await liveClaim(deps, ref)
  const reboot = openReboot(deps, claim, ref.uid)
  if (claim === undefined || reboot === undefined) return { kind: 'over' }
  if (reboot.phase === 'issued') return { kind: 'issued' }
  if (isHeld(deps, claim)) return { kind: 'over' }
  const failed = (message: string): PreparedReboot => ({ kind: 'failed', result: 'provider_error', message })
  const found = await findClaimVm(deps, ref.name, claimIdentity(claim))
  if (found.kind !== 'own') return failed(`VM ${vmName(ref.name)} ${found.kind === 'none' ? 'is gone' : found.why}`)
  const bootId = (await readNode(deps, claim))?.bootId ?? ''
  const hasBooted = reboot.preBootId !== undefined && bootId !== '' && bootId !== reboot.preBootId
  if (hasBooted) return issued(deps, claim)
  // Without it the boot could not be noticed.
  if (bootId === '' && !isRecorded(claim))
    throw new Error(`Node of NodeClaim ${ref.name}: status.nodeInfo.bootID is not set; its kubelet must report it`)
  const seen = await lastOperation(deps, { claim, followsFailure }, signal)
  if (seen === undefined) return failed(`VM ${vmName(ref.name)} is gone`)
  if (isRestartAsked(claim, seen)) return issued(deps, claim)
  const judgedMs = deps.now()
  if (!(await record(deps, ref, { bootId, seen }))) return { kind: 'over' }
  // An attempt that was given up by now leaves the request to its successor. One that stood still has yet to hear of that.
  signal.throwIfAborted()
  if (deps.now() - judgedMs > freshMs)
    throw new Error(
      `VM ${vmName(ref.name)}: its restart is not asked for, as this process stood still; it is tried again`,
    )
  const { virtualMachines } = deps.azure.compute
  await heardOut(virtualMachines.restart(deps.config.nodeResourceGroup, vmName(ref.name)).submitted())
  return issued(deps, claim)
}

/** Whether somebody keeps the claim: nothing is begun then. */
function isHeld({ now }: Pick<RestartDeps, 'now'>, claim: NodeClaim): boolean {
  return holdOf(claim, now()) !== undefined
}

/** Records on the claim what was before its restart. Returns whether that may be asked for: not if the claim is being deleted or held by then. */
async function record(
  deps: RestartDeps,
  ref: ClaimRef,
  { bootId, seen }: { readonly bootId: string; readonly seen: string },
): Promise<boolean> {
  const isKept = (one: NodeClaim) => one.metadata.deletionTimestamp !== undefined || isHeld(deps, one)
  const recorded = await updateClaim(deps, ref, (current) => {
    if (isKept(current) || isRecorded(current)) return undefined
    const annotations = restartRecord(current, { bootId, seen, now: deps.now() })
    return lockedPatch({ metadata: { annotations } }, current.metadata)
  })
  return recorded !== undefined && !isKept(recorded) && isRecorded(recorded)
}

/**
 * Returns when the last operation on the VM of a claim was, once nothing is going on with it, and nothing more may come of a lost attempt's request.
 * Undefined: the VM is gone.
 */
async function lastOperation(
  deps: RestartDeps,
  { claim, followsFailure }: Pick<Restart, 'followsFailure'> & { readonly claim: NodeClaim },
  signal: AbortSignal,
): Promise<string | undefined> {
  const lostUntilMs = isRecorded(claim) && !followsFailure ? deps.now() + lostRequestMs : 0
  for (;;) {
    const seen = await settledTime(deps, claim.metadata, signal)
    if (seen === undefined || isRestartAsked(claim, seen) || deps.now() >= lostUntilMs) return seen
    await pauseFor(lookMs, signal)
  }
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
