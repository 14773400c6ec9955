import type { NodeClass } from '../../../api/objects.ts'
import { conditionOf, isTrue } from '../../../core/conditions.ts'
import { factsOfClaim, priceAnnotation, priceOfClaim } from '../../../core/history/claim-facts.ts'
import type { VmSpan } from '../../../core/history/life.ts'
import { allocatable } from '../../../core/instance-type.ts'
import { nodeNotFound } from '../../../core/node-claim/registration.ts'
import type { Condition, NodeClaim } from '../../../core/objects.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import { requirements } from '../../../core/requirements/requirements.ts'
import { formatResources, type Resources } from '../../../core/resources.ts'
import { setClaimConditions, updateClaim } from '../../kubernetes/client/object-writes.ts'
import type { WriteDeps } from '../../kubernetes/parts.ts'
import { milestones } from '../../telemetry/milestones.ts'
import type { AzureConfig } from '../azure-config.ts'
import type { LaunchOutcome } from '../contract.ts'
import { inPlaceGoal, inPlaceStamps } from '../in-place/in-place-state.ts'
import { type Chosen, launchedLabels, outdatedLabels } from '../node-config/node-labels.ts'
import type { AzureParts } from '../parts.ts'
import { providerId } from './virtual-machine.ts'

export type RecordLaunchDeps = WriteDeps & Pick<AzureParts, 'log' | 'config'>

/** Fields that a launch writes into its claim. */
interface LaunchRecord {
  readonly labels: Readonly<Record<string, string>>
  /** The node class's state when the VM was made from it, which drift is compared with. */
  readonly annotations: Readonly<Record<string, string>>
  readonly status: {
    readonly providerID: string
    readonly imageID: string
    readonly capacity?: Readonly<Record<string, string>>
    readonly allocatable?: Readonly<Record<string, string>>
  }
}

/** USD an hour of a VM. */
type LaunchPrice = Pick<VmSpan, 'pricePerHour' | 'isEstimate'>

export interface LaunchedVm {
  readonly config: AzureConfig
  readonly nodeClass: NodeClass | undefined
  readonly claim: Pick<NodeClaim, 'metadata' | 'spec'>
  readonly chosen: Chosen
  readonly imageId: string
  readonly price: LaunchPrice
  /** Provider id of an AKS machine's VM; unset: a VM of Joiner's. */
  readonly machineVm?: string | undefined
}

/** Returns a claim's labels, annotations and status after its launch (reference/azure-provider.md 4.6). */
export function launchRecord({
  config,
  nodeClass,
  claim,
  chosen,
  imageId,
  price,
  machineVm,
}: LaunchedVm): LaunchRecord {
  const type = chosen.instanceType
  // AKS gives its machines their identities.
  const goalOf = (of: NodeClass) => inPlaceGoal(config, of, claim)
  const stampsOf = (of: NodeClass) =>
    inPlaceStamps(machineVm === undefined ? goalOf(of) : { ...goalOf(of), identities: [] })
  // Nothing says what an adopted VM was made from but what its Node remembers, and its NIC has the tags of the claim before.
  const isAdopted = claim.metadata.annotations[annotations.adoptedFrom] !== undefined
  const classStamps = (of: NodeClass) =>
    isAdopted ? { ...classHashes(of), ...classHashes(claim) } : { ...classHashes(of), ...stampsOf(of) }
  return {
    labels: launchedLabels(chosen, requirements(claim.spec.requirements), config.location),
    annotations: {
      ...priceAnnotation(price),
      ...(chosen.reservation === undefined ? {} : { [annotations.reservationGroup]: chosen.reservation.groupId }),
      ...(nodeClass === undefined ? {} : classStamps(nodeClass)),
    },
    status: {
      providerID: machineVm ?? providerId(config, claim.metadata.name),
      imageID: imageId,
      ...(type === undefined
        ? {}
        : { capacity: withoutZeros(type.capacity), allocatable: withoutZeros(allocatable(type)) }),
    },
  }
}

function classHashes({ metadata }: Pick<NodeClaim, 'metadata'>): Record<string, string> {
  return Object.fromEntries(
    [annotations.nodeClassHash, annotations.nodeClassHashVersion].flatMap((key) => {
      const value = metadata.annotations[key]
      return value === undefined ? [] : [[key, value]]
    }),
  )
}

/**
 * Records a launch in its claim: labels first, then the status with Launched True, each under an optimistic lock. Removes labels of
 * an earlier attempt that the new VM does not have. A claim that went away meanwhile is an outcome. `claim`: as it was when the launch began.
 * Errors: another try of the launch has said since what became of it.
 */
export async function recordLaunch(
  deps: RecordLaunchDeps,
  claim: NodeClaim,
  {
    chosen,
    imageId,
    price,
    acceptedMs,
    machineVm,
  }: Pick<LaunchedVm, 'chosen' | 'imageId' | 'price' | 'machineVm'> & { readonly acceptedMs: number },
): Promise<LaunchOutcome> {
  const ref = { name: claim.metadata.name, uid: claim.metadata.uid }
  const nodeClass = deps.cache.nodeClasses.get(claim.spec.nodeClassRef.name)
  const record = launchRecord({ config: deps.config, nodeClass, claim, chosen, imageId, price, machineVm })
  const labelled = await updateClaim(deps, ref, (current) => {
    refuseSuperseded(claim, current)
    const { metadata } = current
    const changes: Record<string, string | null> = {}
    for (const [key, value] of Object.entries(record.labels)) if (metadata.labels[key] !== value) changes[key] = value
    for (const key of outdatedLabels(metadata.labels, record.labels)) changes[key] = null
    const accepted = { [annotations.acceptedAt]: new Date(acceptedMs).toISOString() }
    const stamps = Object.fromEntries(
      Object.entries({ ...record.annotations, ...accepted }).filter(
        ([key, value]) => metadata.annotations[key] !== value,
      ),
    )
    return Object.keys({ ...changes, ...stamps }).length === 0
      ? undefined
      : { metadata: { resourceVersion: metadata.resourceVersion, labels: changes, annotations: stamps } }
  })
  if (labelled === undefined) return { kind: 'claimGone' }
  const written = await setClaimConditions(deps, ref, (current) => {
    refuseSuperseded(claim, current)
    return {
      conditions: [
        { type: 'Launched', status: 'True' },
        ...(isAwaited(current.status.conditions)
          ? [{ type: 'Registered', status: 'Unknown', ...nodeNotFound } as const]
          : []),
      ],
      status: record.status,
    }
  })
  if (written === undefined) return { kind: 'claimGone' }
  if (!isTrue(claim.status.conditions, 'Launched')) milestones.launched(deps.log, written)
  return {
    kind: 'launched',
    providerId: record.status.providerID,
    instanceType: chosen.typeName,
    zone: chosen.zone,
    capacityType: chosen.capacityType,
    imageId,
    acceptedMs,
    ...price,
  }
}

/**
 * Returns the outcome of the launch that a claim had, whoever asks again. Who waits for its Node finds out what became of the VM; and one that Azure calls
 * failed may still run pods once the Node has joined.
 */
export function recordedLaunch(claim: NodeClaim): LaunchOutcome | undefined {
  const { metadata, status } = claim
  const [vm] = factsOfClaim(claim).vms
  const { providerId, imageId = '', conditions } = status
  if (providerId === undefined || !['Launched', 'Registered'].some((type) => isTrue(conditions, type))) return undefined
  const label = (key: string) => metadata.labels[key] ?? ''
  return {
    kind: 'launched',
    providerId,
    instanceType: label(labels.instanceType),
    zone: label(labels.zone),
    capacityType: label(labels.capacityType),
    imageId,
    acceptedMs: vm?.fromMs ?? Date.parse(metadata.creationTimestamp),
    ...priceOfClaim(claim),
  }
}

/** A try that stood still for minutes must not write what it made over what the tries after it made: their VM may be another one. */
function refuseSuperseded(began: NodeClaim, current: NodeClaim): void {
  const [before, now] = [began, current].map(({ status }) => conditionOf(status.conditions, 'Launched'))
  if (before?.status === now?.status && before?.reason === now?.reason && before?.message === now?.message) return
  // Set with any other condition while nothing is known of it.
  if (before === undefined && now?.reason === 'AwaitingReconciliation') return
  throw new Error(
    `NodeClaim ${current.metadata.name}: its condition Launched was changed by another try of the launch; the next try looks at the VM`,
  )
}

/** Returns whether the Node is awaited. That of a claim that was launched before may have joined already. */
function isAwaited(conditions: readonly Condition[]): boolean {
  return (conditionOf(conditions, 'Registered')?.status ?? 'Unknown') === 'Unknown'
}

function withoutZeros(amounts: Resources): Record<string, string> {
  return formatResources(Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount.nano !== 0n)))
}
