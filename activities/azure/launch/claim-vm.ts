import type { VirtualMachine } from '@azure/arm-compute'
import { labels } from '../../../core/labels.ts'
import { isMissing } from '../arm/azure-error.ts'
import type { ClaimRef } from '../contract.ts'
import type { AzureDeps } from '../dependencies.ts'
import { tagKeys, vmName } from './virtual-machine.ts'

/** The claim's VM as Azure has it now; undefined when there is none. */
export async function getVm(deps: AzureDeps, claimName: string): Promise<VirtualMachine | undefined> {
  return deps.cloudProvider.measure({ method: 'Get' }, async () => {
    try {
      return await deps.azure.compute.virtualMachines.get(deps.config.nodeResourceGroup, vmName(claimName))
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  })
}

/** Asks for the deletion of the claim's VM; NIC and disk go with it. Gone already is success. */
export async function deleteVm(deps: AzureDeps, claimName: string): Promise<void> {
  await deps.cloudProvider.measure({ method: 'Delete', nodePool: nodePoolOf(deps, claimName) }, async () => {
    try {
      await deps.azure.compute.virtualMachines
        .delete(deps.config.nodeResourceGroup, vmName(claimName), { forceDeletion: true })
        .submitted()
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  })
}

/** Empty for a claim of no pool, or one that is gone. */
export function nodePoolOf({ cache }: AzureDeps, claimName: string): string {
  return cache.nodeClaims.get(claimName)?.metadata.labels[labels.nodePool] ?? ''
}

/** Waits until the list of VMs does not show the claim's any more. */
export function vmGone(deps: AzureDeps, claimName: string, signal: AbortSignal): Promise<true> {
  return deps.vms.waitFor((snapshot) => (snapshot.has(vmName(claimName)) ? undefined : true), signal)
}

/** Whose VM it is: this claim's by its tag, nobody's (Karpenter tags no UID), another claim's, or another cluster's. */
export function ownerOf(deps: AzureDeps, vm: VirtualMachine, ref: ClaimRef): 'claim' | 'otherClaim' | 'otherCluster' {
  const cluster = vm.tags?.[tagKeys.cluster]
  if (cluster !== undefined && cluster !== deps.config.clusterName) return 'otherCluster'
  const uid = vm.tags?.[tagKeys.claimUid]
  return uid === undefined || uid === ref.uid ? 'claim' : 'otherClaim'
}

/** `spot` or `on-demand`. */
export function capacityTypeOfVm(vm: VirtualMachine): 'spot' | 'on-demand' {
  return vm.priority === 'Spot' ? 'spot' : 'on-demand'
}
