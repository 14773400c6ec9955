import type { VirtualMachine } from '@azure/arm-compute'
import type { NodeClass } from '../../../api/objects.ts'
import { conditionOf, isTrue } from '../../../core/conditions.ts'
import { claimValueErrors } from '../../../core/node-claim/values.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { errorText } from '../../../core/values/field-error.ts'
import { activityScope } from '../../activity-context.ts'
import { waitingFailure } from '../../failure.ts'
import { cachedClaim, liveClaim, setClaimConditions } from '../../kubernetes/client/object-writes.ts'
import type { ClaimRef } from '../../kubernetes/contract.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import { readNode } from '../../kubernetes/lifecycle/claim-nodes.ts'
import { withFinalizer } from '../../kubernetes/lifecycle/observe.ts'
import type { CloudProviderError } from '../../telemetry/cloud-provider-metrics.ts'
import { NotItsTurn, RequestUndecided } from '../arm/azure-failure.ts'
import { isGoneWithin, reportFailure, setLaunchedUnknown } from '../capacity/refusal.ts'
import type { AzureActivities, LaunchOutcome } from '../contract.ts'
import type { LaunchLeave } from '../launch-limits.ts'
import { tagProblem } from '../node-class/tag-errors.ts'
import { chooseInTurn } from '../refusals/choose-in-turn.ts'
import { turnComes } from '../refusals/launch-turn.ts'
import { type BootstrapToken, revokeBootstrapToken } from './bootstrap-token.ts'
import { getVm, nodePoolOf } from './claim-vm.ts'
import type { InstanceMaker, PutVmDeps } from './put-vm.ts'
import { recordedLaunch } from './record-launch.ts'
import { adoptLost, isAdopting, isOthers, type TakeOver, type TakeOverDeps, takeOver } from './take-over.ts'

export interface LaunchDeps extends PutVmDeps, TakeOverDeps {
  /** Makes VMs of Joiner's, or machines of AKS. */
  readonly maker: InstanceMaker
}

/** Well below the time limit of one attempt. */
const longestWaitMs = 60_000

type LaunchInput = Pick<Parameters<AzureActivities['launch']>[0], 'claim' | 'attempt'> &
  Partial<Pick<LaunchLeave, 'lookOnly'>> &
  Pick<TakeOver, 'followsLoss'>

const createErrors: Readonly<Partial<Record<LaunchOutcome['kind'], CloudProviderError>>> = {
  capacity: 'InsufficientCapacityError',
  exhausted: 'InsufficientCapacityError',
  nodeClassNotReady: 'NodeClassNotReadyError',
}

/**
 * Runs one attempt to make a claim's VM. The VM's name follows from the claim's, so a repeated attempt finds what an earlier one made:
 * GET before PUT, adoption of a VM that carries this claim's UID (or none: Karpenter's), removal of one that failed.
 * Errors: Azure's or the API server's besides capacity; a node class that is not validated yet; a catalogue that is not loaded yet.
 */
export async function launch(deps: LaunchDeps, input: LaunchInput, signal: AbortSignal): Promise<LaunchOutcome> {
  const { claim: ref } = input
  try {
    return await deps.cloudProvider.measure(
      { method: 'Create', nodePool: nodePoolOf(deps, ref.name) },
      () => launchOnce(deps, input, signal),
      { errorOf: ({ kind }) => createErrors[kind], thrown: () => 'CreateError' },
    )
  } catch (error) {
    if (error instanceof NotItsTurn) {
      // Nothing was sent, and those whose turn it is would find less than there is.
      deps.quota.release(ref.uid)
      deps.reservations.choose(ref.name, undefined)
    }
    if (!(error instanceof NotItsTurn && error.isBrief)) await reportFailure(deps, ref, error)
    // What may still come is waited for by Temporal, which outlives this process.
    const { waitMs, failure } = waitingFailure(error, error instanceof RequestUndecided ? 0 : longestWaitMs)
    // A launch that waits for its turn may go earlier than was said.
    const nodeClass = error instanceof NotItsTurn ? cachedClaim(deps, ref)?.spec.nodeClassRef.name : undefined
    const earlier = nodeClass === undefined ? undefined : (both: AbortSignal) => turnComes(deps, nodeClass, both)
    // A wait of Temporal's would delay the end of a claim that is deleted meanwhile.
    const gone = waitMs > 0 && isGoneWithin(deps, ref, { ms: waitMs, signal, earlier }).catch(() => false)
    if (await gone) return { kind: 'claimGone' }
    throw failure
  }
}

async function launchOnce(
  deps: LaunchDeps,
  { claim: ref, attempt, lookOnly = false, followsLoss }: LaunchInput,
  signal: AbortSignal,
): Promise<LaunchOutcome> {
  const { maker } = deps
  const prefetched = prefetch(deps, { ref, attempt })
  const claim = await prefetched.claim
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) {
    await prefetched.token
    await revokeBootstrapToken(deps.client, ref.uid)
    return { kind: 'claimGone' }
  }
  const known = recordedLaunch(claim)
  if (known !== undefined) {
    // A token that comes after the Node would be revoked by nobody.
    await Promise.allSettled([prefetched.token])
    // A try that stood still may have said since that there is no VM.
    if (!isTrue(claim.status.conditions, 'Launched'))
      await setClaimConditions(deps, ref, () => ({ conditions: [{ type: 'Launched', status: 'True' }] }))
    return known
  }
  maker.check(claim)
  // Without sizes and prices no choice is possible, and a VM could not be described: a restart is not a lack of capacity.
  await deps.catalogue.whenLoaded(signal)
  const vm = await prefetched.vm
  const taking = { claim, attempt, lookOnly, followsLoss }
  const adopts = isAdopting(claim)
  const existing = async () => {
    const ofVm = vm && (await (adopts ? adoptLost(deps, claim) : takeOver(deps, { ...taking, vm }, signal)))
    const found = ofVm ?? (await maker.takeOver(taking, signal))
    // Nothing is made for it: what is gone ends it.
    return found ?? (adopts ? adoptLost(deps, claim) : undefined)
  }
  // A claim whose time is over does not wait for what is another's to go.
  const taken = await existing().catch((error: unknown) => {
    if (lookOnly && isOthers(error)) return undefined
    throw error
  })
  if (taken !== undefined) return taken
  if (lookOnly) return withoutVm(deps, claim)
  const nodeClass = deps.cache.nodeClasses.get(claim.spec.nodeClassRef.name)
  const unready = await unreadiness(deps, claim, nodeClass)
  if (unready !== undefined || nodeClass === undefined) return { kind: 'nodeClassNotReady', message: unready ?? '' }
  const invalid = await refuseInvalid(deps, claim)
  if (invalid !== undefined) return invalid
  await Promise.all([deps.unavailable.synced(signal), deps.reservations.know(claim)])
  const choice = await chooseInTurn(deps, { claim, nodeClass })
  return choice.kind === 'chosen' ? maker.make({ ...choice, claim, attempt }, prefetched.token, signal) : choice
}

interface Prefetched {
  readonly claim: Promise<NodeClaim | undefined>
  /** The VM of the claim's name. */
  readonly vm: Promise<VirtualMachine | undefined>
  /** Undefined when the token of an earlier attempt exists, which a VM may hold. */
  readonly token: Promise<BootstrapToken | undefined>
}

/**
 * Prefetches in parallel what a launch reads, since a pod waits for it. An attempt that follows a refusal knows that there is no VM, and
 * has its token. It finds in the cache the claim whose condition was written just now. Prefetches that turn out not to be needed may fail.
 */
function prefetch(
  deps: LaunchDeps,
  { ref, attempt }: { readonly ref: ClaimRef; readonly attempt: number },
): Prefetched {
  const { maker } = deps
  const left = deps.refusedAttempts.take(ref.uid, attempt)
  const isFirst = attempt === 1 && activityScope().isFirst
  const written = left === undefined ? undefined : cachedClaim(deps, ref)
  const prefetched: Prefetched = {
    claim: written === undefined ? claimToLaunch(deps, ref, isFirst) : Promise.resolve(written),
    // A VM may have been made before nodes were machines.
    vm: left === undefined && (maker.kind === 'VM' || !isFirst) ? getVm(deps, ref.name) : Promise.resolve(undefined),
    token:
      left !== undefined || isAdopting(cachedClaim(deps, ref)) ? Promise.resolve(left?.token) : maker.token(ref.uid),
  }
  for (const promise of Object.values(prefetched) as readonly Promise<unknown>[]) promise.catch(() => {})
  return prefetched
}

/**
 * Returns the claim, with its finalizer. A first attempt follows the claim's creation, which is in the cache. Should it be deleted meanwhile, its
 * resources are deleted as well.
 */
async function claimToLaunch(deps: LaunchDeps, ref: ClaimRef, isFirst: boolean): Promise<NodeClaim | undefined> {
  const claim = (isFirst ? cachedClaim(deps, ref) : undefined) ?? (await liveClaim(deps, ref))
  return claim === undefined || claim.metadata.deletionTimestamp !== undefined ? claim : withFinalizer(deps, claim)
}

/** Returns the outcome of a claim whose time is over and that has no VM, or only one that is of no use and goes with it. Errors: its Node has joined, so it had one a moment ago. */
async function withoutVm(deps: LaunchDeps, claim: NodeClaim): Promise<LaunchOutcome> {
  const node = await readNode(deps, claim)
  if (node === undefined) return { kind: 'timeout' }
  throw new Error(
    `NodeClaim ${claim.metadata.name}: its Node ${node.metadata.name} has joined, but Azure has no VM of it; the VM is looked up again`,
  )
}

/** Returns why a node class cannot be used. One that was not validated since its last change is waited for, by a retry. */
async function unreadiness(
  deps: LaunchDeps,
  claim: NodeClaim,
  nodeClass: NodeClass | undefined,
): Promise<string | undefined> {
  const { name } = claim.spec.nodeClassRef
  if (nodeClass === undefined || nodeClass.metadata.deletionTimestamp !== undefined) {
    deps.events.record({
      about: subject(claim),
      reason: 'NodeClassResolutionError',
      message: `Failed resolving NodeClass: AKSNodeClass ${name} ${nodeClass === undefined ? 'does not exist' : 'is being deleted'}`,
    })
    return `NodeClaim ${claim.metadata.name}: spec.nodeClassRef.name "${name}" names no AKSNodeClass; create it, or correct the NodePool's template`
  }
  const ready = conditionOf(nodeClass.status.conditions, 'Ready')
  const current = ready?.observedGeneration === undefined || ready.observedGeneration === nodeClass.metadata.generation
  // The settings' tags may be others since the class was judged.
  if (ready?.status === 'True' && current) return tagProblem(deps.config, nodeClass)
  if (ready?.status === 'False' && current) {
    return `AKSNodeClass ${name} is not Ready: ${ready.message ?? 'see its conditions'}`
  }
  const message = `AKSNodeClass ${name}: its status was not brought up to date yet; the launch is tried again`
  const ref = { name: claim.metadata.name, uid: claim.metadata.uid }
  await setLaunchedUnknown(deps, ref, { reason: 'NodeClassReadinessUnknown', message })
  throw new Error(message)
}

/**
 * Rejects a claim whose values a node cannot have, in its condition Launched. A claim that was made by hand has passed no other check, and
 * its spec never changes, so another attempt would have the same result. Undefined when nothing is wrong with it.
 */
async function refuseInvalid(
  deps: LaunchDeps,
  claim: NodeClaim,
): Promise<(LaunchOutcome & { readonly kind: 'invalid' }) | undefined> {
  const errors = claimValueErrors(claim)
  if (errors.length === 0) return undefined
  const message = `${errors.map(errorText).join('; ').slice(0, 900)}; create another NodeClaim with the corrected value`
  await setClaimConditions(deps, claim.metadata, () => ({
    conditions: [{ type: 'Launched', status: 'False', reason: 'InvalidNodeClaim', message }],
  }))
  return { kind: 'invalid', message }
}
