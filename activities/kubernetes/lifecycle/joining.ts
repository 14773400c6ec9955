import { conditionOf, isTrue, nodeGone } from '../../../core/conditions.ts'
import { readyTime, registrationTime } from '../../../core/history/claim-facts.ts'
import { initializedConditions } from '../../../core/node-claim/consistency.ts'
import { expiryDue, nextObservationAt, registrationDeadline, wakeOf } from '../../../core/node-claim/lifecycle.ts'
import { limits } from '../../../core/node-claim/limits.ts'
import { hasHadNode, hasLostNode, owningClaim } from '../../../core/node-claim/node-owner.ts'
import { initializationState, nodeNotFound, registrationPatch } from '../../../core/node-claim/registration.ts'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { annotations, labels, taintKeys } from '../../../core/requirements/labels.ts'
import { limitText } from '../../../core/values/time.ts'
import { untilDeadline } from '../../abortable-wait.ts'
import { milestones } from '../../telemetry/milestones.ts'
import { claimTopic } from '../cache/change-feed.ts'
import { cachedClaim, liveClaim, setClaimConditions, updateNode } from '../client/object-writes.ts'
import type { ClaimRef, InitializationOutcome, RegistrationOutcome } from '../contract.ts'
import { subject } from '../event-recorder.ts'
import { type NodePoolHealthDeps, recordRegistration } from '../node-pools/node-pool-health.ts'
import type { Parts } from '../parts.ts'
import { claimNode, nodesOfVm, readNode } from './claim-nodes.ts'
import { momentOf, type NodeHealthDeps } from './node-health.ts'

export type JoiningDeps = NodeHealthDeps & NodePoolHealthDeps & Pick<Parts, 'lifecycleMetrics'>

/** A claim whose Node is awaited. `limitMs`: time limit of its registration. */
export interface JoinRef extends ClaimRef {
  readonly limitMs?: number | undefined
}

/** Time after which the condition of a claim reports what its node lacks. */
const reportAfterMs = 15_000

/** Time that a watch may be late. */
const lagMs = 5000

/** Interval of checking an unready node for changes by time alone: expiry, and repair. */
const pollMs = 30_000

/** Returns the claim; `gone` when it is deleted, being deleted or another one's. */
function livingClaim(deps: JoiningDeps, ref: ClaimRef): NodeClaim | 'gone' {
  const claim = cachedClaim(deps, ref)
  return claim === undefined || claim.metadata.deletionTimestamp !== undefined ? 'gone' : claim
}

/** Waits for a claim's Node, then registers it: labels, taints, finalizer and owner on the Node, Registered on the claim. */
export async function awaitRegistration(
  deps: JoiningDeps,
  ref: JoinRef,
  signal: AbortSignal,
): Promise<RegistrationOutcome> {
  const { limitMs = limits.registrationMs } = ref
  const first = cachedClaim(deps, ref) ?? (await liveClaim(deps, ref))
  if (first === undefined || first.metadata.deletionTimestamp !== undefined) return { kind: 'claimGone' }
  const joined = (): Joined | RegistrationOutcome | undefined => {
    const claim = livingClaim(deps, ref)
    if (claim === 'gone') return { kind: 'claimGone' }
    const node = claimNode(deps, claim)
    if (node === undefined) return undefined
    if (!isTrue(claim.status.conditions, 'Registered') || hasLostNode(claim, node))
      // A Node that is being deleted takes no finalizer any more. It ends its claim, which is decided where it is observed.
      return node.metadata.deletionTimestamp === undefined ? { node, claim } : { kind: 'observeAgain' }
    return { kind: 'registered', nodeName: node.metadata.name, ...registrationTime(claim) }
  }
  const found = await untilRegistrationEnds(deps, { claim: first, look: joined, limitMs }, signal)
  return 'kind' in found ? found : register(deps, found)
}

const notInitialized = { type: 'Initialized', status: 'Unknown', reason: 'AwaitingReconciliation' } as const

/** The Node of a claim that is to be registered. */
export interface Joined {
  readonly node: Node
  readonly claim: NodeClaim
}

/** Registers a claim's own Node (`claimNode` says which it is): both objects say so then. Done already changes nothing. Errors: the Node is gone. */
export async function register(deps: JoiningDeps, { node, claim }: Joined): Promise<RegistrationOutcome> {
  const nodeName = node.metadata.name
  const isInitialized = await registerNode(deps, claim, nodeName)
  await recordRegistration(deps, claim, true)
  const written = await setClaimConditions(deps, claim.metadata, (current) => ({
    conditions: [
      { type: 'Registered', status: 'True' },
      ...(isInitialized ? initializedConditions(current, node) : []),
      // The Node that was initialized is gone: this one has to be ready by itself.
      ...(!isInitialized && isTrue(current.status.conditions, 'Initialized') ? ([notInitialized] as const) : []),
    ],
    clear: [nodeGone],
    status: { nodeName },
  }))
  if (written === undefined) return { kind: 'claimGone' }
  if (!hasHadNode(claim)) deps.lifecycleMetrics.nodeCreated(written)
  milestones.registered(deps.log, written)
  if (isInitialized) milestones.initialized(deps.log, written)
  return { kind: 'registered', nodeName, ...registrationTime(written) }
}

async function untilRegistrationEnds<T>(
  deps: JoiningDeps,
  { claim, look, limitMs }: { readonly claim: NodeClaim; readonly look: () => T | undefined; readonly limitMs: number },
  signal: AbortSignal,
): Promise<T | RegistrationOutcome> {
  const ref = claim.metadata
  // A Node that joins again has no limit: the end of a claim without a Node is decided where that is observed.
  const limit = hasHadNode(claim) ? deps.now() + pollMs : registrationDeadline(claim, limitMs)
  const { now, isClockWrong } = momentOf(deps)
  const deadline = Math.min(limit, (isClockWrong ? undefined : expiryDue(claim, now)) ?? limit)
  const found = await untilDeadline(deadline - deps.now(), signal, (both) =>
    deps.cache.waitFor([claimTopic(ref.name)], look, both),
  )
  if (found !== 'timeout') return found
  if (deadline < limit || hasHadNode(claim)) return { kind: 'observeAgain' }
  // The wait may have begun with the cache's claim, from before its launch.
  const current = await liveClaim(deps, ref)
  if (current !== undefined && registrationDeadline(current, limitMs) > limit) return { kind: 'observeAgain' }
  // A Node that is there counts, also one that the watch has not reported yet.
  if (current !== undefined) await readNode(deps, current)
  return look() ?? { kind: 'timeout', message: timeoutMessage(deps, ref, limitMs) }
}

/** Returns the timeout's message, with what was found out about the VM. */
function timeoutMessage(deps: JoiningDeps, ref: ClaimRef, limitMs: number): string {
  const claim = cachedClaim(deps, ref)
  const condition = conditionOf(claim?.status.conditions ?? [], 'Registered')
  const known = condition?.message === nodeNotFound.message ? undefined : condition?.message
  // The VM of an AKS machine has AKS' name.
  const vm = claim?.status.providerId?.split('/').at(-1) ?? `aks-${ref.name}`
  const others = claim === undefined ? [] : nodesOfVm(deps, claim).map(({ metadata }) => metadata.name)
  const taken =
    others.length === 0 ? '' : `. Its provider id was registered by Node ${others.join(', ')}, which is another`
  return `VM ${vm} did not join within ${limitText(limitMs)}; look at its boot diagnostics, and at the network path to the API server${taken}${known ? `. Last known: ${known}` : ''}`
}

/**
 * Writes what registration changes on the Node. A Node that can take pods by then is marked as initialized in the same request. Returns whether it
 * was. Errors: the Node is gone.
 */
async function registerNode(deps: JoiningDeps, claim: NodeClaim, nodeName: string): Promise<boolean> {
  const after = await updateNode(deps, nodeName, (node) => {
    // A kubelet may write the label and the annotation as well. It cannot make the claim the owner.
    if (
      owningClaim(node)?.uid === claim.metadata.uid &&
      node.metadata.labels[labels.registered] === 'true' &&
      node.metadata.annotations[annotations.nodeUid] === node.metadata.uid &&
      !node.taints.some(({ key }) => key === taintKeys.unregistered)
    )
      return undefined
    const {
      labels: own,
      annotations: others,
      taints,
      finalizers,
      ownerReferences,
      unregisteredTaintMissing,
    } = registrationPatch(claim, node)
    if (unregisteredTaintMissing) {
      deps.events.record({
        about: subject(claim),
        reason: 'UnregisteredTaintMissing',
        message: `Node ${nodeName} joined without taint ${taintKeys.unregistered}: pods may have landed on it before its labels and taints stood`,
      })
    }
    const marks = initializationState(claim, { ...node, taints }).initialized ? { [labels.initialized]: 'true' } : {}
    const uid = { [annotations.nodeUid]: node.metadata.uid }
    return {
      metadata: { labels: { ...own, ...marks }, annotations: { ...others, ...uid }, finalizers, ownerReferences },
      spec: { taints },
    }
  })
  // Only the cache has it still. Registered without a Node, the claim would lose its bootstrap token.
  if (after === undefined)
    throw new Error(`NodeClaim ${claim.metadata.name}: Node ${nodeName} is gone by now; the next one is waited for`)
  return after.metadata.labels[labels.initialized] === 'true' && initializationState(claim, after).initialized
}

/** Whether a claim was initialized before its lifecycle asked: nodes initialize while Temporal is away. Its Node may have become NotReady since. */
function wasInitialized(claim: NodeClaim, node: Node | undefined): boolean {
  return node !== undefined && isTrue(claim.status.conditions, 'Initialized') && !hasLostNode(claim, node)
}

/** Waits until the Node can take pods; the claim's Initialized condition says what it still lacks. */
export async function awaitInitialization(
  deps: JoiningDeps,
  ref: ClaimRef,
  signal: AbortSignal,
): Promise<InitializationOutcome> {
  // The watch may not have reported the claim to this process yet.
  if (cachedClaim(deps, ref) === undefined) await liveClaim(deps, ref)
  const startedAt = deps.now()
  let reported = ''
  let isWorthWriting = false
  let reporting: Promise<unknown> = Promise.resolve()
  const ready = (): 'ready' | InitializationOutcome | undefined => {
    const claim = livingClaim(deps, ref)
    if (claim === 'gone') return { kind: 'claimGone' }
    const node = claimNode(deps, claim)
    if (node?.metadata.deletionTimestamp !== undefined) return { kind: 'claimGone' }
    // At the start the watch may not have reported the Node to this process yet.
    if (hasLostNode(claim, node) && deps.now() - startedAt >= lagMs) return { kind: 'observeAgain' }
    const due = nextObservationAt(claim, { ...momentOf(deps), sinceMs: startedAt }, { node, rules: deps.nodeRules })
    if (due !== undefined && due <= deps.now()) return { kind: 'observeAgain' }
    const state = initializationState(claim, node)
    if (state.initialized || wasInitialized(claim, node)) return 'ready'
    // Most nodes are ready at once: what they lack in the first moments is not worth a write.
    if (state.message !== reported && isWorthWriting) {
      reported = state.message
      reporting = setClaimConditions(deps, ref, (current) =>
        // An attempt that was frozen meanwhile must not overwrite what its successor wrote.
        isTrue(current.status.conditions, 'Initialized')
          ? undefined
          : { conditions: [{ type: 'Initialized', status: 'Unknown', reason: state.reason, message: state.message }] },
      ).catch((error: unknown) => {
        // The next check writes it.
        reported = ''
        deps.log.debug({ nodeClaim: ref.name, err: error }, 'failed to write condition Initialized')
      })
    }
    return undefined
  }
  // Not by the clock: a timer may fire a millisecond early, and nothing else may change for long.
  const timer = setTimeout(() => {
    isWorthWriting = true
    ready()
  }, reportAfterMs)
  let outcome: 'timeout' | NonNullable<ReturnType<typeof ready>>
  try {
    do outcome = await untilDeadline(pollMs, signal, (both) => deps.cache.waitFor([claimTopic(ref.name)], ready, both))
    while (outcome === 'timeout')
  } finally {
    clearTimeout(timer)
  }
  await reporting
  if (outcome !== 'ready') return outcome
  const claim = cachedClaim(deps, ref)
  const node = claim && claimNode(deps, claim)
  if (claim === undefined || node === undefined) return { kind: 'claimGone' }
  const written = await initialize(deps, { node, claim })
  const seen = deps.cache.nodes.get(node.metadata.name) ?? node
  const wake = wakeOf(claim, momentOf(deps), { node: seen, rules: deps.nodeRules })
  return { kind: 'initialized', ...readyTime(written ?? claim), ...wake }
}

/** Marks a registered Node that can take pods, and its claim, as initialized. Done already changes nothing. Undefined: the claim is gone. */
export async function initialize(deps: JoiningDeps, { node, claim }: Joined): Promise<NodeClaim | undefined> {
  await updateNode(deps, node.metadata.name, (current) =>
    current.metadata.labels[labels.initialized] === 'true'
      ? undefined
      : { metadata: { labels: { [labels.initialized]: 'true' } } },
  )
  const written = await setClaimConditions(deps, claim.metadata, (current) => ({
    conditions: initializedConditions(current, node),
  }))
  if (written !== undefined && !isTrue(claim.status.conditions, 'Initialized'))
    milestones.initialized(deps.log, written)
  return written
}
