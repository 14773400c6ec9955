import { expecting } from '../../kubernetes/client/api-error.ts'
// Requests that update a VM, its NICs and its extension in place.

import type { VirtualMachine, VirtualMachineIdentity } from '@azure/arm-compute'
import type { NetworkInterface } from '@azure/arm-network'
import { inPlaceChange, isNothing } from '../../../core/node-class/in-place-update.ts'
import type { InPlaceState } from '../../../core/node-class/in-place-update-hash.ts'
import { isNotFoundAnswer } from '../arm/azure-error.ts'
import { vmName } from '../launch/virtual-machine.ts'
import type { AzureParts } from '../parts.ts'
import { billingExtensionName } from './billing-extension.ts'

type Arm = Pick<AzureParts, 'azure' | 'config'>

/** The wanted state of a resource, and the names of those of its tags that are Joiner's. */
interface Wanted {
  readonly state: InPlaceState
  readonly ours: readonly string[]
}

/** Changes the tags of a NIC that differ. */
export async function changeNic({ azure, config }: Arm, nic: NetworkInterface, { state, ours }: Wanted): Promise<void> {
  const { tags } = inPlaceChange({ tags: nic.tags ?? {}, identities: [] }, ours, { ...state, identities: [] })
  if (tags !== undefined)
    await azure.network.networkInterfaces.updateTags(config.nodeResourceGroup, nic.name ?? '', { tags: { ...tags } })
}

/** Replaces the tags of the extension, which is Joiner's own. A VM without one needs no change. */
export async function changeExtension({ azure, config }: Arm, claim: string, { tags }: InPlaceState): Promise<void> {
  await azure.compute.virtualMachineExtensions
    .update(config.nodeResourceGroup, vmName(claim), billingExtensionName, { tags: { ...tags } })
    .submitted()
    .catch(expecting(isNotFoundAnswer, undefined))
}

/** Changes tags and identities of a VM that differ. Returns whether anything did. */
export async function changeVm({ azure, config }: Arm, vm: VirtualMachine, wanted: Wanted): Promise<boolean> {
  const change = changeOf(vm, wanted)
  if (isNothing(change)) return false
  const { tags, identities } = change
  await azure.compute.virtualMachines
    .update(config.nodeResourceGroup, vm.name ?? '', {
      ...(tags === undefined ? {} : { tags: { ...tags } }),
      ...(identities === undefined ? {} : { identity: identityWith(vm, identities) }),
    })
    .submitted()
  return true
}

/** Returns what a VM lacks. */
export function changeOf(vm: VirtualMachine, { state, ours }: Wanted) {
  const identities = Object.keys(vm.identity?.userAssignedIdentities ?? {})
  return inPlaceChange({ tags: vm.tags ?? {}, identities }, ours, state)
}

/** Returns identities for an update, which adds them. The kind replaces the earlier kind, so a system-assigned identity is named again. */
function identityWith({ identity }: VirtualMachine, ids: readonly string[]): VirtualMachineIdentity {
  return {
    type: identity?.type?.includes('SystemAssigned') ? 'SystemAssigned, UserAssigned' : 'UserAssigned',
    userAssignedIdentities: Object.fromEntries(ids.map((id) => [id, {}])),
  }
}
