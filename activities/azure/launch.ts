import type { VirtualMachine } from '@azure/arm-compute'
import { isTrue } from '../../core/conditions.ts'
import { allocatable, type InstanceType } from '../../core/instance-type.ts'
import { labels } from '../../core/labels.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { operatorOf } from '../../core/requirement.ts'
import { type Requirements, requirements } from '../../core/requirements.ts'
import { formatResources, type Resources } from '../../core/resources.ts'
import { liveClaim, setClaimConditions, updateClaim } from '../kubernetes/object-writes.ts'
import { armErrorCode, armErrorText, classifyRefusal, isMissing, type Refusal, scrubbedMessage } from './azure-error.ts'
import { aksNodeConfig, customData, kubeletLabels } from './bootstrap.ts'
import { bootstrapToken } from './bootstrap-token.ts'
import { type Choice, chooseOffering } from './choose-offering.ts'
import type { ClaimRef, LaunchOutcome } from './contract.ts'
import type { AzureDeps } from './dependencies.ts'
import { type ResolvedImage, resolveImageFamily, selectImage } from './images.ts'
import { clusterLabel } from './instance-types.ts'
import { type NodeClassSettings, nodeClassSettings } from './node-class-settings.ts'
import { providerId, tagKeys, virtualMachine, vmName } from './virtual-machine.ts'

const registrationMs = 15 * 60_000
const tokenMarginMs = 5 * 60_000

/**
 * One attempt to make a claim's VM. The VM's name follows from the claim's, so a repeated attempt finds what an earlier one made:
 * GET before PUT, adoption of a VM that carries this claim's UID (or none: Karpenter's), removal of one that failed.
 */
export async function launch(
  deps: AzureDeps,
  ref: ClaimRef,
  attempt: number,
  signal: AbortSignal,
): Promise<LaunchOutcome> {
  const claim = await liveClaim(deps, ref)
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return { kind: 'claimGone' }
  const adopted = await adopt(deps, claim, signal)
  if (adopted !== undefined) return adopted

  const nodeClass = deps.cache.nodeClasses.get(claim.spec.nodeClassRef.name)
  if (nodeClass === undefined || nodeClass.metadata.deletionTimestamp !== undefined) {
    return {
      kind: 'nodeClassNotReady',
      message: `NodeClaim ${ref.name}: spec.nodeClassRef.name "${claim.spec.nodeClassRef.name}" names no AKSNodeClass; create it, or correct the NodePool's template`,
    }
  }
  if (!isTrue(nodeClass.status.conditions, 'Ready')) {
    return {
      kind: 'nodeClassNotReady',
      message: `AKSNodeClass ${nodeClass.metadata.name} is not Ready; see its conditions`,
    }
  }
  await deps.unavailable.refresh()
  const wanted = requirements(claim.spec.requirements)
  const choice = chooseOffering(deps.catalogue.instanceTypesFor(nodeClass), {
    uid: ref.uid,
    requirements: wanted,
    requests: claim.spec.requests,
  })
  if (choice === undefined)
    return { kind: 'exhausted', message: 'all requested instance types were unavailable during launch' }
  const image = selectImage(nodeClass.status.images, choice.instanceType)
  if (image === undefined) {
    return {
      kind: 'nodeClassNotReady',
      message: `AKSNodeClass ${nodeClass.metadata.name}: status.images has none for ${choice.instanceType.name}`,
    }
  }
  const kubernetesVersion = nodeClass.status.kubernetesVersion ?? ''
  return put(deps, {
    claim,
    choice,
    image,
    attempt,
    settings: nodeClassSettings(nodeClass, deps.config),
    kubernetesVersion,
    wanted,
  })
}

interface PutInput {
  readonly claim: NodeClaim
  readonly choice: Choice
  readonly image: ResolvedImage
  readonly attempt: number
  readonly settings: NodeClassSettings
  readonly kubernetesVersion: string
  readonly wanted: Requirements
}

async function put(deps: AzureDeps, input: PutInput): Promise<LaunchOutcome> {
  const { claim, choice, image } = input
  const ref = { name: claim.metadata.name, uid: claim.metadata.uid }
  const size = deps.catalogue.size(choice.instanceType.name)
  if (size === undefined)
    throw new Error(
      `instance type "${choice.instanceType.name}" left the catalogue while it was chosen; it is tried again`,
    )
  const ultraSsd = requiresUltraSsd(input.wanted)
  const nodePool = claim.metadata.labels[labels.nodePool]
  const token = await bootstrapToken(deps.client, ref.uid, deps.now() + registrationMs + tokenMarginMs)
  const body = virtualMachine({
    config: deps.config,
    nodeClass: input.settings,
    claim: { ...ref, ...(nodePool === undefined ? {} : { nodePool }) },
    size,
    zone: choice.zone,
    capacityType: choice.capacityType,
    imageId: image.id,
    customData: customData(aksNodeConfig(bootstrapInput(deps, input, token, ultraSsd))),
    attempt: input.attempt,
    ultraSsd,
  })
  try {
    await deps.azure.compute.virtualMachines
      .createOrUpdate(deps.config.nodeResourceGroup, vmName(ref.name), body)
      .submitted()
  } catch (error) {
    return refused(deps, input, error)
  }
  deps.log.info(
    {
      nodeClaim: ref.name,
      instanceType: choice.instanceType.name,
      zone: choice.zone,
      capacityType: choice.capacityType,
      attempt: input.attempt,
    },
    'VM accepted',
  )
  const chosen = { instanceType: choice.instanceType, zone: choice.zone, capacityType: choice.capacityType }
  return recordLaunch(deps, ref, chosen, image.id, claimLabels(input, ultraSsd))
}

/** A refusal about capacity is an outcome and marks what it speaks of; any other error is a failure, shown in the condition. */
async function refused(deps: AzureDeps, { claim, choice }: PutInput, error: unknown): Promise<LaunchOutcome> {
  const ref = { name: claim.metadata.name, uid: claim.metadata.uid }
  const attempted = { instanceType: choice.instanceType.name, zone: choice.zone, capacityType: choice.capacityType }
  const refusal = classifyRefusal(armErrorCode(error) ?? '', armErrorText(error), attempted)
  if (refusal === undefined) {
    await setLaunchedUnknown(deps, ref, 'CreateInstanceFailed', scrubbedMessage(error))
    throw error
  }
  await markRefused(deps, attempted, refusal)
  await setLaunchedUnknown(deps, ref, refusal.reason, refusal.remedy)
  deps.log.info(
    { nodeClaim: ref.name, ...attempted, reason: refusal.reason },
    'offering refused; the next best is tried',
  )
  return { kind: 'capacity', reason: refusal.reason, message: refusal.remedy, ...attempted }
}

/** Marks the offerings that a refusal speaks of, for every replica. */
export async function markRefused(
  deps: AzureDeps,
  attempted: { readonly instanceType: string; readonly zone: string; readonly capacityType: string },
  refusal: Refusal,
): Promise<void> {
  const size = deps.catalogue.size(attempted.instanceType)
  const zones = ['0', ...(size?.zones ?? []).map((zone) => `${deps.config.location.toLowerCase()}-${zone}`)]
  await deps.unavailable.mark({ ...attempted, family: size?.family ?? '', vCpus: size?.vCpus ?? 0 }, refusal.scope, {
    ttlMs: refusal.ttlMs,
    reason: refusal.reason,
    zones,
  })
}

/** Launched is not True (any more): the claim is being launched (again), and why is said. */
export async function setLaunchedUnknown(
  deps: AzureDeps,
  ref: ClaimRef,
  reason: string,
  message: string,
): Promise<void> {
  await setClaimConditions(deps, ref, () => ({
    conditions: [{ type: 'Launched', status: 'Unknown', reason, message: message.slice(0, 1024) }],
  }))
}

async function adopt(deps: AzureDeps, claim: NodeClaim, signal: AbortSignal): Promise<LaunchOutcome | undefined> {
  const vm = await getVm(deps, claim.metadata.name)
  if (vm === undefined) return undefined
  const owner = vm.tags?.[tagKeys.claimUid]
  const alive =
    vm.provisioningState === 'Creating' || vm.provisioningState === 'Updating' || vm.provisioningState === 'Succeeded'
  if (!alive || (owner !== undefined && owner !== claim.metadata.uid)) {
    await removeRemains(deps, claim.metadata.name, vm, signal)
    return undefined
  }
  const name = vm.hardwareProfile?.vmSize ?? ''
  const nodeClass = deps.cache.nodeClasses.get(claim.spec.nodeClassRef.name)
  const instanceType = nodeClass && deps.catalogue.instanceTypesFor(nodeClass).find((type) => type.name === name)
  const zone = vm.zones?.[0] === undefined ? '0' : `${deps.config.location.toLowerCase()}-${vm.zones[0]}`
  const capacityType = vm.priority === 'Spot' ? 'spot' : 'on-demand'
  const imageId =
    vm.storageProfile?.imageReference?.communityGalleryImageId ?? vm.storageProfile?.imageReference?.id ?? ''
  deps.log.info({ nodeClaim: claim.metadata.name, vm: vm.name, instanceType: name }, 'adopted an existing VM')
  const chosen = { instanceType: instanceType ?? name, zone, capacityType }
  return recordLaunch(deps, { name: claim.metadata.name, uid: claim.metadata.uid }, chosen, imageId, {})
}

/** A VM that failed, is going, or belongs to an earlier claim of the same name makes room first. */
async function removeRemains(
  deps: AzureDeps,
  claimName: string,
  vm: VirtualMachine,
  signal: AbortSignal,
): Promise<void> {
  if (vm.provisioningState !== 'Deleting') await deleteVm(deps, claimName)
  await deps.vms.waitFor((snapshot) => (snapshot.has(vmName(claimName)) ? undefined : true), signal)
}

/** The claim's VM; undefined when there is none. */
export async function getVm(deps: AzureDeps, claimName: string): Promise<VirtualMachine | undefined> {
  try {
    return await deps.azure.compute.virtualMachines.get(deps.config.nodeResourceGroup, vmName(claimName))
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Asks for the deletion of the claim's VM; NIC and disk go with it. Gone already is success. */
export async function deleteVm(deps: AzureDeps, claimName: string): Promise<void> {
  try {
    await deps.azure.compute.virtualMachines
      .delete(deps.config.nodeResourceGroup, vmName(claimName), { forceDeletion: true })
      .submitted()
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

interface Chosen {
  /** The type itself, or only its name when the catalogue does not list it. */
  readonly instanceType: InstanceType | string
  readonly zone: string
  readonly capacityType: string
}

/** Writes what was launched into the claim: labels first, then status with Launched True. */
async function recordLaunch(
  deps: AzureDeps,
  ref: ClaimRef,
  chosen: Chosen,
  imageId: string,
  extra: Readonly<Record<string, string>>,
): Promise<LaunchOutcome> {
  const type = typeof chosen.instanceType === 'string' ? undefined : chosen.instanceType
  const typeName = type?.name ?? String(chosen.instanceType)
  const launched = launchedLabels(chosen, typeName, type, deps.config.location)
  const labelled = await updateClaim(deps, ref, (claim) => {
    const wanted = { ...extra, ...launched }
    const missing = Object.entries(wanted).filter(([key, value]) => claim.metadata.labels[key] !== value)
    return missing.length === 0 ? undefined : { metadata: { labels: Object.fromEntries(missing) } }
  })
  const written =
    labelled &&
    (await setClaimConditions(deps, ref, () => ({
      conditions: [{ type: 'Launched', status: 'True' }],
      status: {
        providerID: providerId(deps.config, ref.name),
        imageID: imageId,
        ...(type === undefined
          ? {}
          : { capacity: withoutZeros(type.capacity), allocatable: withoutZeros(allocatable(type)) }),
      },
    })))
  if (written === undefined) return { kind: 'claimGone' }
  return {
    kind: 'launched',
    providerId: providerId(deps.config, ref.name),
    instanceType: typeName,
    zone: chosen.zone,
    capacityType: chosen.capacityType,
    imageId,
  }
}

function withoutZeros(amounts: Resources): Record<string, string> {
  return formatResources(Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount.nano !== 0n)))
}

function launchedLabels(
  { zone, capacityType }: Chosen,
  typeName: string,
  type: InstanceType | undefined,
  region: string,
): Record<string, string> {
  const priority = capacityType === 'spot' ? 'spot' : 'regular'
  return {
    ...(type === undefined ? {} : singleValued(type.requirements)),
    [labels.instanceType]: typeName,
    [labels.zone]: zone,
    [labels.region]: region,
    [labels.capacityType]: capacityType,
    'karpenter.azure.com/placement-scope': zone === '0' ? 'regional' : 'zonal',
    'kubernetes.azure.com/scalesetpriority': priority,
    'kubernetes.azure.com/priority': priority,
  }
}

function singleValued(sets: Requirements): Record<string, string> {
  return Object.fromEntries(
    [...sets.values()].flatMap((set) =>
      operatorOf(set) === 'In' && set.values.size === 1 ? [[set.key, [...set.values][0] as string]] : [],
    ),
  )
}

function claimLabels({ wanted, choice }: PutInput, ultraSsd: boolean): Record<string, string> {
  const azure = Object.entries(singleValued(wanted)).filter(([key]) => key.includes('azure.com/'))
  const ultra = choice.offering.requirements.get('karpenter.azure.com/sku-storage-ultra-ssd')
  return {
    ...Object.fromEntries(azure),
    ...(ultra === undefined ? {} : { 'karpenter.azure.com/sku-storage-ultra-ssd': String(ultraSsd) }),
  }
}

function requiresUltraSsd(wanted: Requirements): boolean {
  const set = wanted.get('karpenter.azure.com/sku-storage-ultra-ssd')
  if (set === undefined) return false
  return set.complement ? set.values.has('false') : set.values.has('true') && !set.values.has('false')
}

function bootstrapInput(deps: AzureDeps, input: PutInput, token: string, ultraSsd: boolean) {
  const { claim, choice, settings } = input
  const { config } = deps
  const size = deps.catalogue.size(choice.instanceType.name)
  const family = resolveImageFamily(settings, input.kubernetesVersion)
  const base = {
    'kubernetes.azure.com/role': 'agent',
    'kubernetes.azure.com/cluster': clusterLabel(config.nodeResourceGroup),
    'kubernetes.azure.com/kubelet-identity-client-id': config.kubeletIdentityClientId,
    'kubernetes.azure.com/mode': 'user',
    'kubernetes.azure.com/os-sku': settings.osSku,
    'kubernetes.azure.com/os-sku-requested': settings.imageFamily,
    'kubernetes.azure.com/os-sku-effective': family,
    'kubernetes.azure.com/localdns-state': settings.localDnsEnabled ? 'enabled' : 'disabled',
    [labels.doNotSyncTaints]: 'true',
  }
  const own = launchedLabels(
    { instanceType: choice.instanceType, zone: choice.zone, capacityType: choice.capacityType },
    choice.instanceType.name,
    choice.instanceType,
    config.location,
  )
  return {
    config,
    nodeClass: settings,
    vmSize: choice.instanceType.name,
    arch: size?.arch ?? 'amd64',
    kubernetesVersion: input.kubernetesVersion,
    imageFamilyResolved: family,
    bootstrapToken: token,
    nodeLabels: kubeletLabels({
      ...base,
      ...claim.metadata.labels,
      ...singleValued(input.wanted),
      ...own,
      ...claimLabels(input, ultraSsd),
    }),
    taints: [...claim.spec.taints, ...claim.spec.startupTaints],
    kubeReserved: choice.instanceType.overhead.kubeReserved ?? {},
    systemReserved: choice.instanceType.overhead.systemReserved ?? {},
  } as const
}
