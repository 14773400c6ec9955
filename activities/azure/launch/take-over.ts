import type { VirtualMachine } from '@azure/arm-compute'
import { kubeletConversion } from '../../../core/node-class/kubelet-conversion.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { launchPrice } from '../../node-overlays/launch-price.ts'
import { typesForClaim } from '../../node-overlays/pool-types.ts'
import { LaunchBlocked } from '../arm/azure-failure.ts'
import type { LearnDeps } from '../capacity/lesson.ts'
import { setLaunchedUnknown } from '../capacity/refusal.ts'
import { zoneLabelOf } from '../catalogue/zones.ts'
import type { LaunchOutcome } from '../contract.ts'
import { isFreeOfPods } from '../garbage/machines-in-use.ts'
import { imageIdOf } from '../node-class/images.ts'
import { reservationOfVm } from '../reservations/reservation.ts'
import type { ClaimVmDeps } from './claim-vm.ts'
import { capacityTypeOfVm, claimIdentity, deleteVm, vmGone } from './claim-vm.ts'
import { judgeFailedVm } from './failed-vm.ts'
import { type VmOwner, vmOwner } from './ownership.ts'
import { recordLaunch } from './record-launch.ts'
import { tagKeys, tagOf } from './tags.ts'
import { attemptOf, providerId, vmName } from './virtual-machine.ts'

export interface TakeOverDeps extends LearnDeps, ClaimVmDeps {}

/**
 * Decides on a VM of the claim's name: an earlier success of this launch, its failure, or remains that make room first.
 * Errors: `LaunchBlocked` for a VM that is not proven to be this cluster's: it is neither adopted nor deleted.
 */
export async function takeOver(
  deps: TakeOverDeps,
  { claim, vm, attempt }: { readonly claim: NodeClaim; readonly vm: VirtualMachine; readonly attempt: number },
  signal: AbortSignal,
): Promise<LaunchOutcome | undefined> {
  const ref = { name: claim.metadata.name, uid: claim.metadata.uid }
  const owner = vmOwner(vm, claimIdentity(claim), deps.config)
  const foreign = whyForeign(deps, owner)
  if (foreign !== undefined)
    throw new LaunchBlocked(
      'InstanceNotOwned',
      `VM ${vmName(ref.name)} exists already and ${foreign}; nothing is launched over it. Delete the NodeClaim and give it another name, or delete the VM`,
    )
  const isOwn = owner.kind === 'claim'
  if (!isOwn && (await isInUse(deps, ref.name, vm)))
    throw new LaunchBlocked(
      'InstanceNotOwned',
      `VM ${vmName(ref.name)} exists already, is of an earlier NodeClaim of the name, and its Node is Ready; nothing is launched over it. Delete the NodeClaim and drain the Node, and garbage collection deletes the VM`,
    )
  const state = vm.provisioningState
  if (isOwn && (state === 'Creating' || state === 'Updating' || state === 'Succeeded')) return adopt(deps, claim, vm)
  // Failed in this very attempt: the answer to its PUT was lost, so nobody has judged it yet. The next attempt takes new names.
  const failure =
    isOwn && state === 'Failed' && attemptOf(vm) === attempt ? await judgeFailedVm(deps, claim, vm) : undefined
  if (state !== 'Deleting') await deleteVm(deps, ref.name)
  await vmGone(deps, ref.name, signal)
  if (failure === undefined || !failure.isCapacity) return undefined
  await setLaunchedUnknown(deps, ref, failure)
  return { kind: 'capacity', reason: failure.reason, message: failure.message, ...failure.attempted }
}

/** Whether pods may run on the VM of an earlier claim: NodeClaims that were lost and are written again have new UIDs. */
async function isInUse(deps: TakeOverDeps, claimName: string, { provisioningState, tags }: VirtualMachine) {
  if (provisioningState === 'Deleting' || tagOf(tags, tagKeys.abandoned) !== undefined) return false
  return !(await isFreeOfPods(
    deps,
    { name: vmName(claimName), providerId: providerId(deps.config, claimName) },
    undefined,
  ))
}

/** Returns why a VM is foreign: one with the UID of another existing NodeClaim is that one's, whatever its name. */
function whyForeign({ cache }: TakeOverDeps, owner: VmOwner): string | undefined {
  if (owner.kind === 'foreign') return owner.why
  if (owner.kind === 'claim') return undefined
  const other = [...cache.nodeClaims.values()].find(({ metadata }) => metadata.uid === owner.uid)
  return other && `belongs to NodeClaim ${other.metadata.name} by its tag ${tagKeys.claimUid}`
}

async function adopt(deps: TakeOverDeps, claim: NodeClaim, vm: VirtualMachine): Promise<LaunchOutcome> {
  const typeName = vm.hardwareProfile?.vmSize ?? ''
  const nodeClass = deps.cache.nodeClasses.get(claim.spec.nodeClassRef.name)
  const kubelet = kubeletConversion(claim.metadata.annotations)
  const types =
    nodeClass === undefined ? [] : typesForClaim(deps, claim, deps.catalogue.instanceTypesFor(nodeClass, kubelet))
  deps.log.info({ nodeClaim: claim.metadata.name, vm: vm.name, instanceType: typeName }, 'adopted existing VM')
  const reservation = reservationOfVm(vm)
  const chosen = {
    typeName,
    instanceType: types.find(({ name }) => name === typeName),
    zone: zoneLabelOf(vm),
    capacityType: capacityTypeOfVm(vm),
    ultraSsd: vm.additionalCapabilities?.ultraSSDEnabled ?? false,
    ...(reservation === undefined ? {} : { reservation }),
  }
  return recordLaunch(deps, claim, {
    chosen,
    imageId: imageIdOf(vm.storageProfile?.imageReference),
    acceptedMs: vm.timeCreated?.getTime() ?? deps.now(),
    price: launchPrice(deps.catalogue, chosen, deps.catalogue.size(typeName)),
  })
}
