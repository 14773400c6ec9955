import type { VirtualMachine } from '@azure/arm-compute'
import { isTrue } from '../../core/conditions.ts'
import { cachedClaim } from '../kubernetes/object-writes.ts'
import { classifyRefusal } from './azure-error.ts'
import { claimUidLabel, deleteBootstrapTokens } from './bootstrap-token.ts'
import type { ClaimRef, InstanceOutcome } from './contract.ts'
import type { AzureDeps } from './dependencies.ts'
import { deleteVm, getVm, markRefused, setLaunchedUnknown } from './launch.ts'
import { tagKeys, vmName } from './virtual-machine.ts'

/**
 * Waits until a VM has been created or has failed. It also ends when the Node has joined (then Azure's word decides nothing) and when
 * the claim is going. A failure marks its offering and sets Launched back, so that the lifecycle launches again.
 */
export async function awaitInstance(deps: AzureDeps, ref: ClaimRef, signal: AbortSignal): Promise<InstanceOutcome> {
  const ended = new AbortController()
  const both = AbortSignal.any([signal, ended.signal])
  const fromCluster = deps.cache.waitFor(
    (kind, key) => kind === 'NodeClaim' && key === ref.name,
    (): InstanceOutcome | undefined => {
      const claim = cachedClaim(deps, ref)
      if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return { kind: 'claimGone' }
      return isTrue(claim.status.conditions, 'Registered') ? { kind: 'succeeded' } : undefined
    },
    both,
  )
  const fromAzure = deps.vms.waitFor((snapshot): VirtualMachine | 'gone' | undefined => {
    const vm = snapshot.get(vmName(ref.name))
    if (vm === undefined) return 'gone'
    return vm.provisioningState === 'Succeeded' ||
      vm.provisioningState === 'Failed' ||
      vm.provisioningState === 'Deleting'
      ? vm
      : undefined
  }, both)
  try {
    const first = await Promise.race([fromCluster, fromAzure])
    if (first !== 'gone' && 'kind' in first) return first
    return await judge(deps, ref, first)
  } finally {
    ended.abort()
    // Whichever lost was cancelled just now.
    await Promise.allSettled([fromCluster, fromAzure])
  }
}

/** The list may lag behind, so a VM that it calls failed or gone is read singly before anything follows from it. */
async function judge(deps: AzureDeps, ref: ClaimRef, seen: VirtualMachine | 'gone'): Promise<InstanceOutcome> {
  if (seen !== 'gone' && seen.provisioningState === 'Succeeded') return { kind: 'succeeded' }
  const vm = await instanceView(deps, ref)
  if (vm === undefined || vm.provisioningState === 'Deleting') {
    await setLaunchedUnknown(
      deps,
      ref,
      'InstanceNotFound',
      `VM ${vmName(ref.name)} was deleted before its Node joined; it is launched again`,
    )
    return { kind: 'vmGone' }
  }
  if (vm.provisioningState !== 'Failed') return { kind: 'succeeded' }
  const { code, message } = failureOf(vm)
  const attempted = {
    instanceType: vm.hardwareProfile?.vmSize ?? '',
    zone: vm.zones?.[0] === undefined ? '0' : `${deps.config.location.toLowerCase()}-${vm.zones[0]}`,
    capacityType: vm.priority === 'Spot' ? 'spot' : 'on-demand',
  }
  const refusal = classifyRefusal(code, message, attempted)
  if (refusal !== undefined) await markRefused(deps, attempted, refusal)
  const reason = refusal?.reason ?? 'CreateInstanceFailed'
  const text = refusal?.remedy ?? `VM ${vm.name} failed with ${code}`
  await setLaunchedUnknown(deps, ref, reason, text)
  return {
    kind: 'failed',
    reason,
    message: `${attempted.instanceType} ${attempted.capacityType} in zone ${attempted.zone}: ${text}`,
  }
}

async function instanceView(deps: AzureDeps, ref: ClaimRef): Promise<VirtualMachine | undefined> {
  const vm = await getVm(deps, ref.name)
  if (vm?.provisioningState !== 'Failed') return vm
  return deps.azure.compute.virtualMachines.get(deps.config.nodeResourceGroup, vmName(ref.name), {
    expand: 'instanceView',
  })
}

/** Code and text of a failed provisioning, from the VM's own statuses. */
function failureOf(vm: VirtualMachine): { readonly code: string; readonly message: string } {
  const status = vm.instanceView?.statuses?.find((entry) => entry.code?.startsWith('ProvisioningState/failed'))
  const code = status?.code?.split('/')[2] ?? 'UnknownError'
  return { code, message: status?.message ?? '' }
}

/** Deletes a claim's VM with all that belongs to it, and waits until it is gone. A VM that another claim's UID is on stays. */
export async function deleteInstance(
  deps: AzureDeps,
  ref: ClaimRef,
  signal: AbortSignal,
): Promise<{ readonly existed: boolean }> {
  await deleteBootstrapTokens(deps.client, `${claimUidLabel}=${ref.uid}`)
  const vm = await getVm(deps, ref.name)
  const owner = vm?.tags?.[tagKeys.claimUid]
  if (vm === undefined || (owner !== undefined && owner !== ref.uid)) return { existed: false }
  if (vm.provisioningState !== 'Deleting') await deleteVm(deps, ref.name)
  await deps.vms.waitFor((snapshot) => (snapshot.has(vmName(ref.name)) ? undefined : true), signal)
  return { existed: true }
}
