import type { VirtualMachine } from '@azure/arm-compute'
import { conditionOf } from '../../core/conditions.ts'
import { kubeletConversion, kubeletErrors } from '../../core/kubelet-conversion.ts'
import type { NodeClaim, NodeClass } from '../../core/objects.ts'
import { requirements } from '../../core/requirements.ts'
import { activityScope } from '../activity-context.ts'
import { liveClaim } from '../kubernetes/object-writes.ts'
import { armErrorCode, armErrorText, classifyRefusal, scrubbedMessage } from './azure-error.ts'
import { findBootstrapToken, mintBootstrapToken } from './bootstrap-token.ts'
import { chooseOffering } from './choose-offering.ts'
import { capacityTypeOfVm, deleteVm, getVm, ownerOf, vmGone } from './claim-vm.ts'
import type { ClaimRef, LaunchOutcome } from './contract.ts'
import type { AzureDeps } from './dependencies.ts'
import { imageIdOf, type ResolvedImage, selectImage } from './images.ts'
import { nodeClassSettings } from './node-class-settings.ts'
import { type Chosen, requiresUltraSsd } from './node-labels.ts'
import { recordLaunch } from './record-launch.ts'
import { judgeFailedVm, markRefused, setLaunchedUnknown } from './refusal.ts'
import type { VmSize } from './sku.ts'
import { attemptOf, vmName } from './virtual-machine.ts'
import { vmRequest } from './vm-request.ts'
import { zoneLabelOf } from './zones.ts'

const registrationMs = 15 * 60_000
const tokenMarginMs = 5 * 60_000

/**
 * One attempt to make a claim's VM. The VM's name follows from the claim's, so a repeated attempt finds what an earlier one made:
 * GET before PUT, adoption of a VM that carries this claim's UID (or none: Karpenter's), removal of one that failed.
 * Errors: what Azure or the API server says besides capacity; a node class that is being looked at; a catalogue not loaded yet.
 */
export async function launch(
  deps: AzureDeps,
  ref: ClaimRef,
  attempt: number,
  signal: AbortSignal,
): Promise<LaunchOutcome> {
  const tokenExpiresAtMs = deps.now() + registrationMs + tokenMarginMs
  const mayHaveToken = attempt > 1 || !activityScope().isFirst
  // What a launch reads, it reads at once: pods wait for it. What turns out not to matter may not fail it.
  const reads = {
    vm: getVm(deps, ref.name),
    marks: deps.unavailable.refresh(),
    token: mayHaveToken ? findBootstrapToken(deps.client, ref.uid, tokenExpiresAtMs) : Promise.resolve(undefined),
  }
  for (const read of Object.values(reads)) read.catch(() => {})
  const claim = await liveClaim(deps, ref)
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return { kind: 'claimGone' }
  // Without sizes and prices nothing could be chosen, and a VM could not be described: a restart is not a lack of capacity.
  await deps.catalogue.whenLoaded(signal)
  const vm = await reads.vm
  if (vm !== undefined) {
    const taken = await takeOver(deps, claim, vm, attempt, signal)
    if (taken !== undefined) return taken
  }
  const nodeClass = deps.cache.nodeClasses.get(claim.spec.nodeClassRef.name)
  const unready = await unreadiness(deps, claim, nodeClass)
  if (unready !== undefined || nodeClass === undefined) return { kind: 'nodeClassNotReady', message: unready ?? '' }
  const invalid = kubeletErrors(claim.metadata.annotations)
  if (invalid.length > 0) return { kind: 'nodeClassNotReady', message: invalid.join('; ') }
  await reads.marks
  // Making room for the VM may have taken long.
  await deps.unavailable.refresh()
  return choose(deps, claim, nodeClass, attempt, async () => {
    return (await reads.token) ?? mintBootstrapToken(deps.client, ref.uid, tokenExpiresAtMs)
  })
}

/** Why a node class cannot be used. One that nobody has looked at since its last change is waited for, by trying again. */
async function unreadiness(
  deps: AzureDeps,
  claim: NodeClaim,
  nodeClass: NodeClass | undefined,
): Promise<string | undefined> {
  const { name } = claim.spec.nodeClassRef
  if (nodeClass === undefined || nodeClass.metadata.deletionTimestamp !== undefined) {
    return `NodeClaim ${claim.metadata.name}: spec.nodeClassRef.name "${name}" names no AKSNodeClass; create it, or correct the NodePool's template`
  }
  const ready = conditionOf(nodeClass.status.conditions, 'Ready')
  const current = ready?.observedGeneration === undefined || ready.observedGeneration === nodeClass.metadata.generation
  if (ready?.status === 'True' && current) return undefined
  if (ready?.status === 'False' && current) {
    return `AKSNodeClass ${name} is not Ready: ${ready.message ?? 'see its conditions'}`
  }
  const message = `AKSNodeClass ${name}: its status was not brought up to date yet; the launch is tried again`
  const ref = { name: claim.metadata.name, uid: claim.metadata.uid }
  await setLaunchedUnknown(deps, ref, 'NodeClassReadinessUnknown', message)
  throw new Error(message)
}

async function choose(
  deps: AzureDeps,
  claim: NodeClaim,
  nodeClass: NodeClass,
  attempt: number,
  token: () => Promise<string>,
): Promise<LaunchOutcome> {
  const wanted = requirements(claim.spec.requirements)
  const { images } = nodeClass.status
  const types = deps.catalogue.instanceTypesFor(nodeClass, kubeletConversion(claim.metadata.annotations))
  const request = { uid: claim.metadata.uid, requirements: wanted, requests: claim.spec.requests }
  const choice = chooseOffering(
    types.filter((type) => selectImage(images, type) !== undefined),
    request,
  )
  const image = choice && selectImage(images, choice.instanceType)
  const size = choice && deps.catalogue.size(choice.instanceType.name)
  if (choice === undefined || image === undefined || size === undefined) {
    const without = chooseOffering(types, request)
    if (without === undefined)
      return { kind: 'exhausted', message: 'all requested instance types were unavailable during launch' }
    return {
      kind: 'nodeClassNotReady',
      message: `AKSNodeClass ${nodeClass.metadata.name}: status.images has none for ${without.instanceType.name}; choose another imageFamily or other instance types`,
    }
  }
  const { instanceType, zone, capacityType } = choice
  const chosen = { typeName: instanceType.name, instanceType, zone, capacityType, ultraSsd: requiresUltraSsd(wanted) }
  return put(deps, { claim, chosen, size, image, attempt, nodeClass, token })
}

interface PutInput {
  readonly claim: NodeClaim
  readonly chosen: Chosen
  readonly size: VmSize
  readonly image: ResolvedImage
  readonly attempt: number
  readonly nodeClass: NodeClass
  /** The bootstrap token of an earlier attempt, or a new one. */
  readonly token: () => Promise<string>
}

async function put(deps: AzureDeps, input: PutInput): Promise<LaunchOutcome> {
  const { claim, chosen, image, size, attempt, nodeClass } = input
  const { name } = claim.metadata
  const body = vmRequest({
    config: deps.config,
    nodeClass: nodeClassSettings(nodeClass, deps.config, kubeletConversion(claim.metadata.annotations)),
    claim,
    chosen,
    size,
    imageId: image.id,
    kubernetesVersion: nodeClass.status.kubernetesVersion ?? '',
    attempt,
    bootstrapToken: await input.token(),
  })
  try {
    await deps.azure.compute.virtualMachines
      .createOrUpdate(deps.config.nodeResourceGroup, vmName(name), body)
      .submitted()
  } catch (error) {
    return refused(deps, input, error)
  }
  const { typeName, zone, capacityType } = chosen
  deps.log.info({ nodeClaim: name, instanceType: typeName, zone, capacityType, attempt }, 'VM accepted')
  return recordLaunch(deps, claim, chosen, image.id)
}

/** A refusal about capacity is an outcome and marks what it speaks of; any other error is a failure, shown in the condition. */
async function refused(deps: AzureDeps, { claim, chosen }: PutInput, error: unknown): Promise<LaunchOutcome> {
  const ref = { name: claim.metadata.name, uid: claim.metadata.uid }
  const attempted = { instanceType: chosen.typeName, zone: chosen.zone, capacityType: chosen.capacityType }
  const refusal = classifyRefusal(armErrorCode(error) ?? '', armErrorText(error), attempted)
  if (refusal === undefined) {
    await setLaunchedUnknown(deps, ref, 'CreateInstanceFailed', scrubbedMessage(error))
    throw error
  }
  await Promise.all([
    markRefused(deps, attempted, refusal),
    setLaunchedUnknown(deps, ref, refusal.reason, refusal.remedy),
  ])
  deps.log.info({ nodeClaim: ref.name, ...attempted, reason: refusal.reason }, 'offering refused')
  if (refusal.scope === 'nothing') return { kind: 'exhausted', message: refusal.remedy }
  return { kind: 'capacity', reason: refusal.reason, message: refusal.remedy, ...attempted }
}

/** What a VM of the claim's name means: an earlier success of this launch, its failure, or remains that make room first. */
async function takeOver(
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
