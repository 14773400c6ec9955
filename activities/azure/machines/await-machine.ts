import { type AksMachineId, parseAksMachineId } from '../../../core/node-claim/aks-machine.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { pauseFor } from '../../activity-context.ts'
import { cachedClaim } from '../../kubernetes/client/object-writes.ts'
import type { ClaimRef } from '../../kubernetes/contract.ts'
import type { VmList } from '../arm/vm-list.ts'
import type { LearnDeps } from '../capacity/lesson.ts'
import { setLaunchedUnknown } from '../capacity/refusal.ts'
import type { InstanceOutcome } from '../contract.ts'
import { type ClaimVmDeps, getVmNamed } from '../launch/claim-vm.ts'
import { failedAfterAccepted } from '../launch/failed-vm.ts'
import { providerIdOf } from '../launch/virtual-machine.ts'
import { judgeFailedMachine } from './failed-machine.ts'
import { vmNameOf } from './machine-ownership.ts'
import { type AksMachine, getMachine } from './machines-api.ts'

export interface AwaitMachineDeps extends LearnDeps, ClaimVmDeps {
  /** The machines of the pool that nodes are made in; unset where nodes are VMs. */
  readonly machines?: VmList<AksMachine>
}

/** Delay before a machine that the list lacks is looked at again: the list may lag behind a PUT. */
const lagMs = 1000
/** Interval of looks at a machine that was made and whose Node has not joined. */
const madeMs = 30_000

/**
 * Waits until the machine of a claim that Joiner made has failed or is gone, and prepares another launch then; a wait for its Node ends it otherwise.
 * Undefined: it is no such machine, of which only the Node counts.
 */
export function machineDecides(
  deps: AwaitMachineDeps,
  ref: ClaimRef,
  signal: AbortSignal,
): Promise<InstanceOutcome> | undefined {
  const id = parseAksMachineId(cachedClaim(deps, ref)?.metadata.annotations[annotations.aksMachine] ?? '')
  const { machines, config } = deps
  if (machines === undefined || id === undefined || id.pool !== config.makesMachines?.pool) return undefined
  return untilLost(machines, id)

  async function untilLost(list: VmList<AksMachine>, place: AksMachineId): Promise<InstanceOutcome> {
    for (;;) {
      const seen = await list.waitFor((all) => settled(all.get(place.name)), signal)
      const isMade = seen === 'Succeeded'
      // Most Nodes join before the VM of a machine that was made is looked for.
      if (isMade) await pauseFor(madeMs, signal)
      // What the list shows may be out of date, so the machine is read singly before anything follows from it.
      const isSuspect = !isMade || (await isUnlisted(deps, ref, signal))
      const lost = isSuspect ? await judge(deps, { ref, machine: await getMachine(deps, place) }, signal) : undefined
      if (lost !== undefined) return lost
      if (!isMade) await pauseFor(lagMs, signal)
    }
  }
}

/** Whether the list of VMs lacks that of a claim's machine. */
async function isUnlisted({ vms, ...deps }: AwaitMachineDeps, ref: ClaimRef, signal: AbortSignal): Promise<boolean> {
  const claim = cachedClaim(deps, ref)
  const vm = claim && vmNameOf(claim, deps.config)
  return vm !== undefined && vms.waitFor((list) => !list.has(vm), signal)
}

/** Whether Azure has no VM of a machine that was made: it took a spot VM back, which AKS does not notice. */
export async function hasLostVm(deps: AwaitMachineDeps, { properties }: AksMachine): Promise<boolean> {
  if (properties?.provisioningState !== 'Succeeded') return false
  const vm = vmNameOf({ status: { providerId: providerIdOf(properties.resourceId ?? '') } }, deps.config)
  if (vm === undefined) return false
  const found = await getVmNamed(deps, vm)
  return found === undefined || found.provisioningState === 'Deleting'
}

function settled(machine: AksMachine | undefined): string | undefined {
  if (machine === undefined) return 'gone'
  const state = machine.properties?.provisioningState
  return state === 'Succeeded' || state === 'Failed' || state === 'Deleting' ? state : undefined
}

async function judge(
  deps: AwaitMachineDeps,
  { ref, machine }: { readonly ref: ClaimRef; readonly machine: AksMachine | undefined },
  signal: AbortSignal,
): Promise<InstanceOutcome | undefined> {
  const state = machine?.properties?.provisioningState
  if (machine === undefined || state === 'Deleting' || (await hasLostVm(deps, machine))) {
    const message = 'the AKS machine or its VM was deleted before its Node joined; it is made again'
    await setLaunchedUnknown(deps, ref, { reason: 'InstanceNotFound', message })
    return { kind: 'vmGone' }
  }
  if (state !== 'Failed') return undefined
  const failure = await judgeFailedMachine(deps, cachedClaim(deps, ref), machine)
  return failedAfterAccepted(deps, { ref, failure }, signal)
}
