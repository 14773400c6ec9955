import type { VirtualMachine } from '@azure/arm-compute'
import { kubeletConversion } from '../../../core/node-class/kubelet-conversion.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { defined } from '../../../core/values/defined.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import { deleteClaim } from '../../kubernetes/lifecycle/claim-deletion.ts'
import { readNode } from '../../kubernetes/lifecycle/claim-nodes.ts'
import { launchPrice, typesForClaim } from '../../node-overlays/pool-types.ts'
import { heardOut, LaunchBlocked, lostRequestMs } from '../arm/azure-failure.ts'
import { learnFromAdoption } from '../capacity/learn.ts'
import type { LearnDeps } from '../capacity/lesson.ts'
import { setLaunchedUnknown } from '../capacity/refusal.ts'
import { zoneLabelOf } from '../catalogue/zones.ts'
import type { LaunchOutcome } from '../contract.ts'
import { isFreeOfPods } from '../garbage/machines-in-use.ts'
import { imageIdOf } from '../node-class/images.ts'
import type { Chosen } from '../node-config/node-labels.ts'
import { reservationOfVm } from '../reservations/reservation.ts'
import type { InstanceKind } from './claim-instance.ts'
import { type ClaimVmDeps, cannotJoin, capacityTypeOfVm, claimIdentity, deleteVm, getVm, vmGone } from './claim-vm.ts'
import { judgeFailedVm } from './failed-vm.ts'
import { type VmOwner, vmOwner } from './ownership.ts'
import { type LaunchedVm, recordLaunch } from './record-launch.ts'
import { mergedTags, tagKeys, tagOf } from './tags.ts'
import { attemptOf, providerId, vmName } from './virtual-machine.ts'

export interface TakeOverDeps extends LearnDeps, ClaimVmDeps {}

/**
 * `lookOnly`: nothing is made in its place, so the end of remains is not waited for. The end of the claim does that. `followsLoss`: the process of the try
 * before was lost, and what it had asked for may still take effect.
 */
export interface TakeOver {
  readonly claim: NodeClaim
  readonly attempt: number
  readonly lookOnly?: boolean | undefined
  readonly followsLoss?: boolean | undefined
}

/**
 * Decides on a VM of the claim's name: an earlier success of this launch, its failure, or remains that make room first.
 * Errors: `LaunchBlocked` for a VM that is not proven to be this cluster's: it is neither adopted nor deleted.
 */
export async function takeOver(
  deps: TakeOverDeps,
  { claim, vm, attempt, lookOnly, followsLoss }: TakeOver & { readonly vm: VirtualMachine },
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
  if (owner.kind === 'earlierClaim' && (await isInUse(deps, ref.name, vm)))
    throw new LaunchBlocked(
      'InstanceNotOwned',
      `VM ${vmName(ref.name)} exists already, is of an earlier NodeClaim of the name, and its Node is Ready; nothing is launched over it. To give the NodeClaim that VM: kubectl annotate nodeclaim ${ref.name} ${annotations.adoptedFrom}=${owner.uid}. Else delete the NodeClaim and drain the Node, and garbage collection deletes the VM`,
    )
  const state = vm.provisioningState
  const isMade = isOwn && (state === 'Creating' || state === 'Updating' || state === 'Succeeded')
  if (isMade && !(await cannotJoin(deps, claim, vm))) return adopt(deps, claim, vm)
  // Failed in this very attempt: the answer to its PUT was lost, so nobody has judged it yet. The next attempt takes new names.
  const failure =
    isOwn && state === 'Failed' && attemptOf(vm) === attempt ? await judgeFailedVm(deps, claim, vm) : undefined
  if (isMade)
    deps.log.info(
      { nodeClaim: ref.name },
      `deleting VM ${vmName(ref.name)} of an earlier try: its bootstrap token is gone`,
    )
  if (state !== 'Deleting') {
    awaitLost(`VM ${vmName(ref.name)}`, { lookOnly, followsLoss })
    await heardOut(deleteVm(deps, ref.name))
  }
  if (lookOnly) return undefined
  await vmGone(deps, ref.name, signal)
  if (failure === undefined || !failure.isCapacity) return undefined
  await setLaunchedUnknown(deps, ref, failure)
  return { kind: 'capacity', reason: failure.reason, message: failure.message, ...failure.attempted }
}

/**
 * Called before something is deleted by its name to make room: the DELETE of a try that was lost could end what is made after this one's.
 * Errors: `LaunchBlocked` if there may be one. The next try comes when it has taken effect.
 */
export function awaitLost(called: string, { lookOnly, followsLoss }: Pick<TakeOver, 'lookOnly' | 'followsLoss'>): void {
  if (followsLoss !== true || lookOnly === true) return
  const message = `${called} makes room for another in ${lostRequestMs / 1000} s: the process of the try before was lost, and its DELETE may be on its way`
  throw new LaunchBlocked('CommonLaunchFailure', message, lostRequestMs)
}

/** Whether a claim was made again for the VM or AKS machine of a lost one. */
export const isAdopting = (claim: NodeClaim | undefined) =>
  claim?.metadata.annotations[annotations.adoptedFrom] !== undefined

/**
 * Gives a claim that was made again for the VM of a lost one that VM, as its tags prove, by writing the claim's UID into them. No VM is made for it: one
 * that is gone ends the claim. Only the VM that was read is changed, so an attempt that stood still changes nothing.
 * Errors: `LaunchBlocked` for a VM that is another's.
 */
export async function adoptLost(deps: TakeOverDeps, claim: NodeClaim): Promise<LaunchOutcome> {
  const { name, uid, annotations: noted } = claim.metadata
  const vm = await getVm(deps, name)
  if (vm === undefined || vm.provisioningState === 'Deleting') {
    const message = `VM ${vmName(name)} is gone, so NodeClaim ${name}, which was made again for it, ends`
    deps.events.record({ about: subject(claim), reason: 'GarbageCollected', message })
    await deleteClaim(deps, { name, uid })
    return { kind: 'claimGone' }
  }
  const owner = vmOwner(vm, claimIdentity(claim), deps.config)
  const lost = { kind: 'earlierClaim', uid: noted[annotations.adoptedFrom] ?? '' } as const
  const why =
    owner.kind === 'earlierClaim' ? 'belongs to another NodeClaim' : (whyForeign(deps, owner) ?? whyForeign(deps, lost))
  if (why !== undefined)
    throw new LaunchBlocked(
      'InstanceNotOwned',
      `VM ${vmName(name)} ${why}, so it is not adopted; if it is the lost NodeClaim's: kubectl annotate nodeclaim ${name} --overwrite ${annotations.adoptedFrom}=UID with the UID in the VM's tag ${tagKeys.claimUid}; else delete the NodeClaim`,
    )
  if (vm.provisioningState === 'Failed') await refuseFailed(deps, claim, { called: `VM ${vmName(name)}`, id: vm.id })
  if (tagOf(vm.tags, tagKeys.claimUid) !== uid) {
    const tags = mergedTags(vm.tags ?? {}, { [tagKeys.clusterUid]: deps.config.clusterUid, [tagKeys.claimUid]: uid })
    await deps.azure.compute.virtualMachines
      .update(deps.config.nodeResourceGroup, vmName(name), { tags }, vm.etag === undefined ? {} : { ifMatch: vm.etag })
      .submitted()
  }
  return adopt(deps, claim, vm)
}

/**
 * Refuses to adopt what is Failed and has no Node: it would be taken over and found to have failed in turn, without end, as no other VM is made for the
 * claim. Errors: `LaunchBlocked`.
 */
export async function refuseFailed(
  deps: TakeOverDeps,
  claim: NodeClaim,
  { called, id = '' }: { readonly called: string; readonly id?: string | undefined },
): Promise<void> {
  if ((await readNode(deps, claim)) !== undefined) return
  throw new LaunchBlocked(
    'CommonLaunchFailure',
    `${called} is Failed and its Node is gone, so it is not adopted; to repair it: az vm reapply --ids ${id}; else delete the NodeClaim`,
  )
}

/** Whether an error of a take-over says that what has the claim's name is not the claim's. */
export const isOthers = (error: unknown) => error instanceof LaunchBlocked && error.reason === 'InstanceNotOwned'

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

function adopt(deps: TakeOverDeps, claim: NodeClaim, vm: VirtualMachine): Promise<LaunchOutcome> {
  const reservation = reservationOfVm(vm)
  return adoptInstance(deps, claim, {
    kind: 'VM',
    offering: {
      typeName: vm.hardwareProfile?.vmSize ?? '',
      zone: zoneLabelOf(vm),
      capacityType: capacityTypeOfVm(vm),
      ultraSsd: vm.additionalCapabilities?.ultraSSDEnabled ?? false,
      ...defined({ reservation }),
    },
    imageId: imageIdOf(vm.storageProfile?.imageReference),
    ...defined({ createdMs: vm.timeCreated?.getTime() }),
  })
}

/** What Azure says of an instance that an earlier try made. */
interface MadeEarlier extends Pick<LaunchedVm, 'imageId' | 'machineVm'> {
  readonly kind: InstanceKind
  readonly offering: Omit<Chosen, 'instanceType'>
  readonly createdMs?: number
}

/** Records a VM or an AKS machine that an earlier try made in its claim, as if this one had made it. */
export async function adoptInstance(
  deps: TakeOverDeps,
  claim: NodeClaim,
  { kind, offering, imageId, createdMs, machineVm }: MadeEarlier,
): Promise<LaunchOutcome> {
  const { typeName } = offering
  const nodeClass = deps.cache.nodeClasses.get(claim.spec.nodeClassRef.name)
  const kubelet = kubeletConversion(claim.metadata.annotations)
  const types =
    nodeClass === undefined ? [] : typesForClaim(deps, claim, deps.catalogue.instanceTypesFor(nodeClass, kubelet))
  deps.log.info({ nodeClaim: claim.metadata.name, instanceType: typeName }, `adopted existing ${kind}`)
  const chosen = { ...offering, instanceType: types.find(({ name }) => name === typeName) }
  const price = launchPrice(deps.catalogue, chosen, deps.catalogue.size(typeName))
  const [outcome] = await Promise.all([
    recordLaunch(deps, claim, { chosen, imageId, acceptedMs: createdMs ?? deps.now(), price, machineVm }),
    learnFromAdoption(
      deps,
      { nodeClass: claim.spec.nodeClassRef.name, instanceType: typeName, image: imageId },
      createdMs,
    ),
  ])
  return outcome
}
