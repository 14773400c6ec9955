import { labels } from '../../../core/requirements/labels.ts'
import { untilDeadline } from '../../abortable-wait.ts'
import { cachedClaim } from '../../kubernetes/client/object-writes.ts'
import type { ClaimRef, InitializationOutcome } from '../../kubernetes/contract.ts'
import { awaitInitialization, awaitRegistration, type JoiningDeps } from '../../kubernetes/lifecycle/joining.ts'
import { type ClaimSpansDeps, claimSpan, launchEnds } from '../../telemetry/claim-spans.ts'
import { LaunchBlocked } from '../arm/azure-failure.ts'
import { learnFromSuccess, learnFromTimeout } from '../capacity/learn.ts'
import type { AzureActivities, JoinOutcome, LaunchOutcome } from '../contract.ts'
import { revokeBootstrapToken } from '../launch/bootstrap-token.ts'
import { awaitInstance, type InstanceDeps } from '../launch/instance.ts'

export interface AwaitNodeDeps extends ClaimSpansDeps, JoiningDeps, InstanceDeps {}

type AwaitNodeInput = Parameters<AzureActivities['awaitNode']>[0]
type Launched = Extract<LaunchOutcome, { readonly kind: 'launched' }>

/** Times for a Node to join, and to become ready, without steps of their own; a longer wait is a phase that operators should see. */
const joinsSoonMs = 120_000
const soonMs = 30_000

/** Waits for the Node of a VM that was launched just now, as long as most boots take. Errors: as `awaitNode`. */
export async function awaitNodeSoon(
  deps: AwaitNodeDeps,
  input: AwaitNodeInput,
  { launched, signal }: { readonly launched: Launched; readonly signal: AbortSignal },
): Promise<Launched> {
  const join = await untilDeadline(joinsSoonMs, signal, (both) => awaitNode(deps, input, both))
  return join === 'timeout' ? launched : { ...launched, join }
}

/**
 * Waits until a claim's VM has failed or its Node has joined, and for a while longer until the Node is ready. A Node that has joined wins over
 * Azure's state of its VM, and its bootstrap token is deleted. Errors: as `awaitInstance` and `awaitRegistration`.
 */
export async function awaitNode(deps: AwaitNodeDeps, input: AwaitNodeInput, signal: AbortSignal): Promise<JoinOutcome> {
  const { claim: ref } = input
  const outcome = await joinedOrFailed(deps, input, signal)
  await learnFromOutcome(deps, ref, outcome)
  if (outcome.kind !== 'registered') return outcome
  const [ready] = await Promise.all([readySoon(deps, ref, signal), revokeBootstrapToken(deps.client, ref.uid)])
  if (ready === 'timeout') return outcome
  return ready.kind === 'initialized' ? { ...outcome, ...ready } : ready
}

/** What a join teaches must not delay or end it: a failure is logged. */
async function learnFromOutcome(deps: AwaitNodeDeps, ref: ClaimRef, { kind }: JoinOutcome): Promise<void> {
  const claim = cachedClaim(deps, ref)
  const instanceType = claim?.metadata.labels[labels.instanceType]
  if (claim === undefined || instanceType === undefined) return
  const launch = { nodeClass: claim.spec.nodeClassRef.name, instanceType, image: claim.status.imageId ?? '' }
  try {
    if (kind === 'timeout') await learnFromTimeout(deps, launch)
    if (kind === 'registered') await learnFromSuccess(deps, launch, 'registered')
  } catch (error) {
    if (error instanceof LaunchBlocked) return
    deps.log.warn({ err: error, nodeClaim: ref.name }, 'failed to record how the launch ended')
  }
}

async function readySoon(
  deps: AwaitNodeDeps,
  ref: ClaimRef,
  signal: AbortSignal,
): Promise<InitializationOutcome | 'timeout'> {
  const ready = await untilDeadline(soonMs, signal, (both) =>
    claimSpan(deps, { step: 'awaitInitialization', claim: ref }, () => awaitInitialization(deps, ref, both)),
  )
  if (ready !== 'timeout' && ready.kind === 'initialized') await launchEnds(deps, ref)
  return ready
}

async function joinedOrFailed(
  deps: AwaitNodeDeps,
  { claim: ref, limitMs }: AwaitNodeInput,
  signal: AbortSignal,
): Promise<JoinOutcome> {
  const ended = new AbortController()
  const both = AbortSignal.any([signal, ended.signal])
  const joined = claimSpan(deps, { step: 'awaitRegistration', claim: ref }, () =>
    awaitRegistration(deps, { ...ref, limitMs }, both),
  )
  const waits = [joined, awaitInstance(deps, { ...ref, limitMs }, both)] as const
  try {
    const first = await Promise.race(waits)
    return first.kind === 'succeeded' ? await joined : first
  } finally {
    ended.abort()
    // The other wait was cancelled just now.
    await Promise.allSettled(waits)
  }
}
