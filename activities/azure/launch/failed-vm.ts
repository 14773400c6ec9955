import type { VirtualMachine } from '@azure/arm-compute'
import type { NodeClaim } from '../../../core/objects.ts'
import { pauseFor } from '../../activity-context.ts'
import { cachedClaim } from '../../kubernetes/client/object-writes.ts'
import type { ClaimRef } from '../../kubernetes/contract.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import { type Attempted, launchFailedReason } from '../arm/azure-error.ts'
import { failureOf, LaunchBlocked } from '../arm/azure-failure.ts'
import { learnFromRefusal } from '../capacity/learn.ts'
import type { LearnDeps, Lesson } from '../capacity/lesson.ts'
import { setLaunchedUnknown } from '../capacity/refusal.ts'
import { zoneLabelOf } from '../catalogue/zones.ts'
import type { InstanceOutcome } from '../contract.ts'
import { imageIdOf } from '../node-class/images.ts'
import { stateOfClass } from '../refusals/launch-turn.ts'
import { capacityTypeOfVm } from './claim-vm.ts'
import { tagKeys, tagOf } from './tags.ts'

/** Why a VM failed after its PUT was accepted, and as what it was asked for. A capacity failure has marked its offering. */
export interface VmFailure {
  readonly attempted: Attempted
  readonly reason: string
  readonly message: string
  readonly isCapacity: boolean
  /** How long the next attempt is better left: what the failure asks for has to happen first. */
  readonly retryAfterMs: number
}

/** Looks into a VM that is Failed. The code stands in its statuses, `ProvisioningState/failed/<code>`. */
export async function judgeFailedVm(
  deps: LearnDeps,
  claim: NodeClaim | undefined,
  vm: VirtualMachine,
): Promise<VmFailure> {
  const detailed = await deps.azure.compute.virtualMachines.get(deps.config.nodeResourceGroup, vm.name ?? '', {
    expand: 'instanceView',
  })
  const status = detailed.instanceView?.statuses?.find((entry) => entry.code?.startsWith('ProvisioningState/failed'))
  const code = status?.code?.split('/')[2] ?? 'UnknownError'
  return judgeFailure(deps, claim, {
    called: `VM ${vm.name}`,
    attempted: attemptedAs(vm),
    code,
    text: status?.message ?? '',
    image: imageIdOf(vm.storageProfile?.imageReference),
    nodePool: tagOf(vm.tags, tagKeys.nodePool) ?? '',
  })
}

/** The failure of a VM that never joins (`cannotJoin`): the next attempt makes room for another one. */
export function lostToken(vm: VirtualMachine): VmFailure {
  return {
    attempted: attemptedAs(vm),
    reason: 'BootstrapTokenLost',
    message: `VM ${vm.name} can never join: its bootstrap token was replaced or deleted; it is deleted, and another one is launched`,
    isCapacity: false,
    retryAfterMs: 0,
  }
}

function attemptedAs(vm: VirtualMachine): Attempted {
  return {
    instanceType: vm.hardwareProfile?.vmSize ?? '',
    zone: zoneLabelOf(vm),
    capacityType: capacityTypeOfVm(vm),
  }
}

/** A VM or machine that failed, and what Azure says of it. */
interface FailedInstance {
  /** As messages name it, such as `VM aks-a`. */
  readonly called: string
  readonly attempted: Attempted
  readonly code: string
  readonly text: string
  readonly image: string
  readonly nodePool: string
  /** Whether its VM was made. Unset: it was. */
  readonly hasVm?: boolean
}

/** Counts a failure after an accepted PUT, and learns from it what to leave out. */
export async function judgeFailure(
  deps: LearnDeps,
  claim: NodeClaim | undefined,
  { called, attempted, code, text, image, nodePool, hasVm = true }: FailedInstance,
): Promise<VmFailure> {
  deps.vmCreates.failed({ ...attempted, imageId: image, nodePool }, 'async', code)
  const nodeClass = deps.cache.nodeClasses.get(claim?.spec.nodeClassRef.name ?? '')
  const launch = {
    ...attempted,
    image,
    nodeClass: claim?.spec.nodeClassRef.name ?? '',
    ...(claim === undefined ? {} : { nodeClaim: claim.metadata.name }),
    ...(nodeClass === undefined ? {} : { state: stateOfClass(nodeClass, deps.config) }),
    ...(hasVm ? { wasAccepted: true as const } : {}),
  }
  const lesson = await learn(deps, { code, text }, launch)
  if (lesson !== undefined)
    return {
      attempted,
      reason: lesson.reason,
      message: lesson.message,
      isCapacity: lesson.kind !== 'blocked',
      retryAfterMs: 0,
    }
  const failure = failureOf({ code, text })
  const said = text.split('\n')[0]?.slice(0, 300)
  return {
    attempted,
    reason: launchFailedReason,
    message: `${called} failed: ${failure.reason}: ${failure.remedy}. Azure said: ${code}${said ? `: ${said}` : ''}`,
    isCapacity: false,
    retryAfterMs: failure.retryAfterMs ?? 0,
  }
}

interface Blocked {
  readonly kind: 'blocked'
  readonly reason: string
  readonly message: string
}

/** A cause that all sizes share must not keep the failed VM: what holds launches back is asked before the next one. */
async function learn(
  deps: LearnDeps,
  facts: Parameters<typeof learnFromRefusal>[1],
  launch: Parameters<typeof learnFromRefusal>[2],
): Promise<Lesson | Blocked | undefined> {
  try {
    return await learnFromRefusal(deps, facts, launch)
  } catch (error) {
    if (!(error instanceof LaunchBlocked)) throw error
    return { kind: 'blocked', reason: error.reason, message: error.message }
  }
}

/**
 * Reports a VM or machine that failed after Azure had accepted it, and resets the claim for another attempt. The outcome means that attempt at once, so
 * a wait before it takes place here.
 */
export async function failedAfterAccepted(
  deps: LearnDeps,
  { ref, failure }: { readonly ref: ClaimRef; readonly failure: VmFailure },
  signal: AbortSignal,
): Promise<InstanceOutcome> {
  const { attempted, reason, message, retryAfterMs } = failure
  const claim = cachedClaim(deps, ref)
  if (claim !== undefined) {
    const said = `Failed to register: ${message.slice(0, 500)}`
    deps.events.record({ about: subject(claim), reason: 'AsyncProvisioningError', message: said })
  }
  await setLaunchedUnknown(deps, ref, { reason, message })
  deps.log.info({ nodeClaim: ref.name, ...attempted, reason, why: message }, 'launch failed after Azure accepted it')
  if (retryAfterMs > 0) await pauseFor(retryAfterMs, signal)
  const { instanceType, capacityType, zone } = attempted
  return { kind: 'failed', reason, message: `${instanceType} ${capacityType} in zone ${zone}: ${message}` }
}
