import type { VirtualMachine } from '@azure/arm-compute'
import { kubeletConversion } from '../../../core/kubelet-conversion.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { judgeFailedVm, setLaunchedUnknown } from '../capacity/refusal.ts'
import { zoneLabelOf } from '../catalogue/zones.ts'
import type { LaunchOutcome } from '../contract.ts'
import type { AzureDeps } from '../dependencies.ts'
import { imageIdOf } from '../node-class/images.ts'
import { capacityTypeOfVm, deleteVm, ownerOf, vmGone } from './claim-vm.ts'
import { recordLaunch } from './record-launch.ts'
import { attemptOf } from './virtual-machine.ts'

/** What a VM of the claim's name means: an earlier success of this launch, its failure, or remains that make room first. */
export async function takeOver(
  deps: AzureDeps,
  claim: NodeClaim,
  vm: VirtualMachine,
  attempt: number,
  signal: AbortSignal,
): Promise<LaunchOutcome | undefined> {
  const ref = { name: claim.metadata.name, uid: claim.metadata.uid }
  const owner = ownerOf(deps, vm, ref)
  if (owner === 'otherCluster') {
    throw new Error(
      `VM ${vm.name}: the tag karpenter.azure.com_cluster names another cluster than "${deps.config.clusterName}"; delete the VM, or correct CLUSTER_NAME or AZURE_NODE_RESOURCE_GROUP`,
    )
  }
  const state = vm.provisioningState
  if (owner === 'claim' && (state === 'Creating' || state === 'Updating' || state === 'Succeeded'))
    return adopt(deps, claim, vm)
  // Failed in this very attempt: the answer to its PUT was lost, so nobody has judged it yet. The next attempt takes new names.
  const failure =
    owner === 'claim' && state === 'Failed' && attemptOf(vm) === attempt ? await judgeFailedVm(deps, vm) : undefined
  if (state !== 'Deleting') await deleteVm(deps, ref.name)
  await vmGone(deps, ref.name, signal)
  if (failure === undefined || !failure.isCapacity) return undefined
  await setLaunchedUnknown(deps, ref, failure.reason, failure.message)
  return { kind: 'capacity', reason: failure.reason, message: failure.message, ...failure.attempted }
}

async function adopt(deps: AzureDeps, claim: NodeClaim, vm: VirtualMachine): Promise<LaunchOutcome> {
  const typeName = vm.hardwareProfile?.vmSize ?? ''
  const nodeClass = deps.cache.nodeClasses.get(claim.spec.nodeClassRef.name)
  const kubelet = kubeletConversion(claim.metadata.annotations)
  const types = nodeClass === undefined ? [] : deps.catalogue.instanceTypesFor(nodeClass, kubelet)
  deps.log.info({ nodeClaim: claim.metadata.name, vm: vm.name, instanceType: typeName }, 'adopted an existing VM')
  return recordLaunch(
    deps,
    claim,
    {
      typeName,
      instanceType: types.find(({ name }) => name === typeName),
      zone: zoneLabelOf(vm),
      capacityType: capacityTypeOfVm(vm),
      ultraSsd: vm.additionalCapabilities?.ultraSSDEnabled ?? false,
    },
    imageIdOf(vm.storageProfile?.imageReference),
  )
}
