import type { VirtualMachine } from '@azure/arm-compute'
import { instanceNotOwned, isTrue } from '../../../core/conditions.ts'
import type { NamedVm } from '../../../core/machines-in-use.ts'
import { isAksMachine } from '../../../core/node-claim/aks-machine.ts'
import { registrationDeadline } from '../../../core/node-claim/lifecycle.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { activityScope, pauseFor } from '../../activity-context.ts'
import { claimTopic } from '../../kubernetes/cache/change-feed.ts'
import { cachedClaim, claimBeingDeleted, liveClaim, setClaimConditions } from '../../kubernetes/client/object-writes.ts'
import type { ClaimRef } from '../../kubernetes/contract.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import type { JoinRef } from '../../kubernetes/lifecycle/joining.ts'
import type { Parts } from '../../kubernetes/parts.ts'
import { setLaunchedUnknown } from '../capacity/refusal.ts'
import type { DeletionOfVm, InstanceOutcome } from '../contract.ts'
import { isFreeOfPods } from '../garbage/machines-in-use.ts'
import { type JoinEvidenceDeps, reportNotJoined } from '../join/join-evidence.ts'
import { type AwaitMachineDeps, machineDecides } from '../machines/await-machine.ts'
import { instanceOf } from '../machines/instance-of.ts'
import { revokeBootstrapToken } from './bootstrap-token.ts'
import { unownedText } from './claim-instance.ts'
import { type ClaimVmDeps, cannotJoin, getVm } from './claim-vm.ts'
import { failedAfterAccepted, judgeFailedVm, lostToken } from './failed-vm.ts'
import { providerId, vmName } from './virtual-machine.ts'

export type InstanceDeps = JoinEvidenceDeps & ClaimVmDeps & AwaitMachineDeps & Pick<Parts, 'lifecycleMetrics'>

/** Times before the registration deadline: when a boot is plainly late, and with time enough for the last check. */
const evidenceTimes = [10 * 60_000, 60_000] as const

/** Delay before a VM that the list lacks is checked again: the list may lag behind a PUT. */
const lagMs = 1000

/** Interval of checks whether a created VM still exists. Most Nodes join before the first one, so it costs no list. */
const existsEveryMs = 30_000

/** From its launch on most VMs have joined after so long. Of others each of these checks asks whether they can: that costs a request. */
const bootMs = 2 * 60_000

/**
 * Waits until a VM has been created or has failed. Also ends when the Node has joined (then Azure's state decides nothing) and when
 * the claim is going. A failure marks its offering and resets Launched, so that the lifecycle launches again.
 */
export async function awaitInstance(deps: InstanceDeps, ref: JoinRef, signal: AbortSignal): Promise<InstanceOutcome> {
  const ended = new AbortController()
  const both = AbortSignal.any([signal, ended.signal])
  const claim = await launchedClaim(deps, ref)
  // Of an AKS machine of others only the Node counts: Joiner does not make another one.
  const isMachine = claim !== undefined && isAksMachine(claim)
  const azure = isMachine ? machineDecides(deps, ref, both) : azureDecides(deps, ref, both)
  const waits = [clusterDecides(deps, ref, both), ...(azure === undefined ? [] : [azure])]
  try {
    return await Promise.race(waits)
  } finally {
    ended.abort()
    // The other wait was cancelled just now.
    await Promise.allSettled(waits)
  }
}

/** In machine mode the claim is read from the API server until the cache shows its machine: before that it would be taken for one with a VM. */
async function launchedClaim(deps: InstanceDeps, ref: ClaimRef): Promise<NodeClaim | undefined> {
  const seen = cachedClaim(deps, ref)
  const isCurrent = deps.config.makesMachines === undefined || (seen !== undefined && isAksMachine(seen))
  return isCurrent ? seen : liveClaim(deps, ref)
}

function clusterDecides(deps: InstanceDeps, ref: ClaimRef, signal: AbortSignal): Promise<InstanceOutcome> {
  return deps.cache.waitFor(
    [claimTopic(ref.name)],
    (): InstanceOutcome | undefined => {
      const claim = cachedClaim(deps, ref)
      if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return { kind: 'claimGone' }
      return isTrue(claim.status.conditions, 'Registered') ? { kind: 'succeeded' } : undefined
    },
    signal,
  )
}

async function azureDecides(deps: InstanceDeps, ref: JoinRef, signal: AbortSignal): Promise<InstanceOutcome> {
  for (;;) {
    const seen = await deps.vms.waitFor((snapshot) => settled(snapshot.get(vmName(ref.name))), signal)
    if (seen !== 'gone' && seen.provisioningState === 'Succeeded') return watchJoining(deps, ref, signal)
    const outcome = await judge(deps, ref, signal)
    if (outcome?.kind === 'succeeded') return watchJoining(deps, ref, signal)
    if (outcome !== undefined) return outcome
    await pauseFor(lagMs, signal)
  }
}

/**
 * Watches a created VM until its Node joins. A VM that vanishes before that (a spot eviction, a deletion by hand) is launched again. Reports Azure's
 * facts about a VM whose Node does not come: while the VM can still be inspected, and once more before the claim is given up.
 */
async function watchJoining(deps: InstanceDeps, ref: JoinRef, signal: AbortSignal): Promise<InstanceOutcome> {
  for (const beforeDeadlineMs of evidenceTimes) {
    const claim = cachedClaim(deps, ref) ?? (await liveClaim(deps, ref))
    if (claim === undefined) return { kind: 'claimGone' }
    const dueMs = registrationDeadline(claim, ref.limitMs) - beforeDeadlineMs
    const lost = await lostBefore(deps, ref, { claim, dueMs, signal })
    if (lost !== undefined) return lost
    await reportNotJoined(deps, ref, signal).catch((error: unknown) =>
      deps.log.warn({ err: error, nodeClaim: ref.name }, 'failed to look up why VM has not joined'),
    )
  }
  return { kind: 'succeeded' }
}

/**
 * Waits until `dueMs`. Returns an outcome earlier when Azure no longer has the VM, and for one that is late and can never join. Its other states mean
 * nothing once it was created.
 */
async function lostBefore(
  deps: InstanceDeps,
  ref: ClaimRef,
  { claim, dueMs, signal }: { readonly claim: NodeClaim; readonly dueMs: number; readonly signal: AbortSignal },
): Promise<InstanceOutcome | undefined> {
  const lateMs = registrationDeadline(claim, bootMs)
  const neverJoins = async (vm: VirtualMachine) => deps.now() >= lateMs && (await cannotJoin(deps, claim, vm))
  for (let leftMs = dueMs - deps.now(); leftMs > 0; leftMs = dueMs - deps.now()) {
    await pauseFor(Math.min(existsEveryMs, leftMs), signal)
    const listed = await deps.vms.waitFor((snapshot) => snapshot.get(vmName(ref.name)) ?? 'none', signal)
    if (listed !== 'none' && exists(listed) && !(await neverJoins(listed))) continue
    // A list may be out of date, so the VM is read singly before anything follows from it.
    const vm = await getVm(deps, ref.name)
    if (!exists(vm)) return launchAgain(deps, ref)
    if (await neverJoins(vm)) return failedAfterAccepted(deps, { ref, failure: lostToken(vm) }, signal)
  }
  return undefined
}

function exists(vm: VirtualMachine | undefined): vm is VirtualMachine {
  return vm !== undefined && vm.provisioningState !== 'Deleting'
}

function settled(vm: VirtualMachine | undefined): VirtualMachine | 'gone' | undefined {
  if (vm === undefined) return 'gone'
  const state = vm.provisioningState
  return state === 'Succeeded' || state === 'Failed' || state === 'Deleting' ? vm : undefined
}

/** Reads a VM that the list calls failed or gone singly, before anything follows from it. Undefined when the list was out of date. */
async function judge(deps: InstanceDeps, ref: ClaimRef, signal: AbortSignal): Promise<InstanceOutcome | undefined> {
  const vm = await getVm(deps, ref.name)
  if (!exists(vm)) return launchAgain(deps, ref)
  if (vm.provisioningState === 'Succeeded') return { kind: 'succeeded' }
  if (vm.provisioningState !== 'Failed') return undefined
  const failure = await judgeFailedVm(deps, cachedClaim(deps, ref), vm)
  await revokeBootstrapToken(deps.client, ref.uid)
  return failedAfterAccepted(deps, { ref, failure }, signal)
}

/** Returns the outcome of a VM that Azure no longer has, and prepares another launch: the lost VM holds the token. */
async function launchAgain(deps: InstanceDeps, ref: ClaimRef): Promise<InstanceOutcome> {
  const message = `VM ${vmName(ref.name)} was deleted before its Node joined; it is launched again`
  await revokeBootstrapToken(deps.client, ref.uid)
  await setLaunchedUnknown(deps, ref, { reason: 'InstanceNotFound', message })
  return { kind: 'vmGone' }
}

/**
 * Returns whether the claim may still have a VM: one of its name exists, whoever owns it, or its status names one that Joiner cannot read.
 * Errors: as `getVm`.
 */
export async function findInstance(deps: InstanceDeps, ref: ClaimRef): Promise<{ readonly exists: boolean }> {
  const instance = instanceOf(deps, cachedClaim(deps, ref) ?? ref)
  return { exists: (await instance.vmExists()) || instance.unproven({ kind: 'none' }) !== undefined }
}

/**
 * Deletes a claim's VM or AKS machine with all that belongs to it, and waits until it is gone. One that is not proven to be the claim's stays.
 * Errors: the claim is not being deleted; its status names a VM that is not proven to be its own, which the claim reports and waits for.
 */
export async function deleteInstance(deps: InstanceDeps, ref: ClaimRef, signal: AbortSignal): Promise<DeletionOfVm> {
  const { isFirst } = activityScope()
  // Live: a restore of etcd may have taken the deletion back while this process could not hear of it, and no VM comes back.
  const claim = await claimBeingDeleted(deps, ref, liveClaim)
  await revokeBootstrapToken(deps.client, ref.uid)
  // For a claim that is gone the tag of its UID proves as much.
  const instance = instanceOf(deps, claim ?? ref)
  const found = await instance.find()
  let goneMs = deps.now()
  if (claim === undefined && found.kind === 'own' && !(await isFreeOfPods(deps, vmOf(deps, ref), undefined))) {
    // Its drain ended with the claim. Garbage collection keeps the VM for as long as pods run there.
    deps.log.warn({ nodeClaim: ref.name }, 'left VM of lost nodeclaim to garbage collection, its node is ready')
    return { existed: false, goneMs }
  }
  if (found.kind === 'own') {
    if (!found.isBeingDeleted) await instance.remove()
    // Azure charges nothing for a VM that it deletes.
    goneMs = deps.now()
    await setClaimConditions(deps, ref, () => ({ conditions: [{ type: 'InstanceTerminating', status: 'True' }] }))
    await instance.gone(signal)
  }
  if (claim !== undefined) {
    const unproven = instance.unproven(found)
    if (unproven !== undefined) await refuseTermination(deps, claim, unproven)
    if (found.kind === 'own') deps.lifecycleMetrics.instanceTerminated(cachedClaim(deps, ref) ?? claim)
  }
  const existed = found.kind === 'own'
  return { existed, goneMs, ...(isFirst && !existed ? { wasGone: true } : {}) }
}

function vmOf({ config }: InstanceDeps, { name }: ClaimRef): NamedVm {
  return { name: vmName(name), providerId: providerId(config, name) }
}

/** Reports on the claim what keeps its finalizer in place. Throws, so that the termination is retried. */
async function refuseTermination(deps: InstanceDeps, claim: NodeClaim, why: string): Promise<never> {
  const message = unownedText(claim, why)
  const change = { type: 'InstanceTerminating', status: 'False', reason: instanceNotOwned, message } as const
  await setClaimConditions(deps, claim.metadata, () => ({ conditions: [change] }))
  deps.events.record({ about: subject(claim), reason: 'FailedTermination', message })
  throw new Error(`NodeClaim ${claim.metadata.name}: ${message}`)
}
