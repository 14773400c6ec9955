import { conditionOf, isTrue, nodeGone } from '../../../core/conditions.ts'
import { methodFacts } from '../../../core/disruption/command.ts'
import { causeText, heldText } from '../../../core/disruption/verdicts/cause-text.ts'
import { holdOf } from '../../../core/node-claim/hold.ts'
import { hasLostNode } from '../../../core/node-claim/node-owner.ts'
import { isRepairForbidden, repairState } from '../../../core/node-repair/node-repair.ts'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { type Pauses, pauseText } from '../../../core/pauses/pauses.ts'
import { hasDoNotDisrupt, isActive, isReschedulable, podName } from '../../../core/pods/pod-rules.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import { pauseOf, untilDeadline } from '../../abortable-wait.ts'
import { activityScope } from '../../activity-context.ts'
import { claimTopic } from '../cache/change-feed.ts'
import { cachedClaim, liveClaim } from '../client/object-writes.ts'
import type { CandidateRef, ClaimRef, CommandWork, DeletionOutcome } from '../contract.ts'
import { bindingMs } from '../draining/late-binding.ts'
import { boundTermination } from '../draining/termination-stamp.ts'
import { subject } from '../event-recorder.ts'
import { type DisruptionCountDeps, deleteClaim } from '../lifecycle/claim-deletion.ts'
import { claimNode, claimNodes, readNode } from '../lifecycle/claim-nodes.ts'
import { livePodsOn } from '../lifecycle/live-pods.ts'
import type { Parts } from '../parts.ts'
import { type PauseDeps, readPauses } from '../pauses/pauses.ts'
import { type CommandObjectsDeps, releaseCandidate, releaseReplacement, stampOf } from './command-objects.ts'

/** Interval of looks at candidates whose deletion the watch does not show. */
const lookMs = 30_000

export type CandidatesDeps = CommandObjectsDeps &
  PauseDeps &
  DisruptionCountDeps &
  Pick<Parts, 'lifecycleMetrics' | 'repairPolicies' | 'serverTime'>

/**
 * Deletes a command's candidates and waits until the last is gone, after a last validation with live state. Nodes of a command go together or
 * not at all, empty ones each by itself. A second attempt goes on where one is being deleted already; it releases a node that must stay by then.
 */
export async function deleteCandidates(
  deps: CandidatesDeps,
  work: CommandWork,
  signal: AbortSignal,
): Promise<DeletionOutcome> {
  const { commandId, candidates, method } = work
  if (method === 'emptiness') await untilNoPodComes(deps, candidates, signal)
  const pauses = await readPauses(deps, deps.now())
  const looking = { ...work, pauses }
  const looks = await Promise.all(candidates.map((ref) => lastLook(deps, ref, looking)))
  const going = looks.filter((look) => look.kind === 'going')
  const hasBegun = going.length > 0 && (!activityScope().isFirst || going.length === looks.length)
  const refusals = (of: readonly Look[]) => of.flatMap((look) => (look.kind === 'refused' ? [look] : []))
  const refused = refusals(looks)
  if (!methodFacts[method].holdsInPart && !hasBegun) {
    const why = refused[0]?.message ?? (going.length > 0 ? 'a node of the command is being deleted already' : undefined)
    if (why !== undefined) return { kind: 'refused', message: why }
  }
  const unready = hasBegun ? undefined : await unreadyReplacement(deps, work)
  if (unready !== undefined) return { kind: 'refused', message: `replacement ${unready}` }
  const free = looks.flatMap((look) => (look.kind === 'free' ? [look] : []))
  const left = [...refused, ...refusals(await Promise.all(free.map((look) => remove(deps, look, looking))))]
  if (left.length === looks.length) return { kind: 'refused', message: left[0]?.message ?? 'nothing is left' }
  await Promise.all(left.map(({ ref }) => releaseCandidate(deps, ref, { commandId })))
  // A counter that is there before its first increase: otherwise nobody sees that.
  measureSavings(deps, { ...work, savings: 0 })
  await untilGone(deps, work, signal)
  await Promise.all(work.replacements.map((ref) => releaseReplacement(deps, ref, { commandId, kept: true })))
  measureSavings(deps, work)
  return { kind: 'deleted' }
}

/**
 * Waits for pods that were bound while the Nodes got their taints: a Node with one stays. Without one its drain is over at once, however many there are.
 */
async function untilNoPodComes(
  deps: CandidatesDeps,
  candidates: readonly CandidateRef[],
  signal: AbortSignal,
): Promise<void> {
  const now = deps.now()
  const claims = candidates.flatMap((ref) => cachedClaim(deps, ref) ?? [])
  const left = claims.map((claim) => bindingMs(claim, claimNodes(deps, claim), now))
  await pauseOf(Math.max(0, ...left), signal)
  signal.throwIfAborted()
}

/** Returns a replacement of the command that pods cannot move to, whatever the caller has waited for, and why. */
async function unreadyReplacement(
  deps: CandidatesDeps,
  { commandId, replacements }: CommandWork,
): Promise<string | undefined> {
  for (const ref of replacements) {
    const claim = cachedClaim(deps, ref) ?? (await liveClaim(deps, ref))
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined)
      return `${ref.name} was deleted meanwhile`
  }
  const isOwn = ({ metadata }: NodeClaim) => metadata.annotations[annotations.replacementFor] === commandId
  // Initialized outlives the Node.
  const isUnready = ({ status }: NodeClaim) =>
    !isTrue(status.conditions, 'Initialized') || isTrue(status.conditions, nodeGone)
  for (const known of [...deps.cache.nodeClaims.values()].filter(isOwn)) {
    const claim = isUnready(known) ? await liveClaim(deps, known.metadata) : known
    if (claim === undefined || !isOwn(claim)) continue
    // The lifecycle that would say that the Node is gone may have waited for Temporal, as the command has.
    const node = claimNode(deps, claim) ?? (await readNode(deps, claim))
    if (isUnready(claim) || hasLostNode(claim, node)) return `${claim.metadata.name} of the command is not initialized`
  }
  return undefined
}

type Look =
  | { readonly kind: 'free'; readonly ref: CandidateRef; readonly claim: NodeClaim; readonly pods: number }
  | { readonly kind: 'going' }
  | { readonly kind: 'refused'; readonly ref: ClaimRef; readonly message: string }

type Looking = CommandWork & { readonly pauses: Pauses }

/**
 * Returns whether a candidate may still be deleted. Its Node and its pods are read live. So is its claim, unless each goes by itself: what the cache has
 * does then. The deletion is of the version that was judged, and after a conflict the look is repeated.
 */
async function lastLook(deps: CandidatesDeps, ref: CandidateRef, looking: Looking): Promise<Look> {
  const known = methodFacts[looking.method].holdsInPart ? cachedClaim(deps, ref) : undefined
  const claim = known ?? (await liveClaim(deps, ref))
  return claim === undefined ? { kind: 'going' } : judge(deps, { ref, claim }, looking)
}

async function judge(
  deps: CandidatesDeps,
  { ref, claim }: { readonly ref: CandidateRef; readonly claim: NodeClaim },
  { commandId, method, repair, pauses }: Looking,
): Promise<Look> {
  if (claim.metadata.deletionTimestamp !== undefined) return { kind: 'going' }
  const refused = (message: string): Look => ({ kind: 'refused', ref, message: `NodeClaim ${ref.name}: ${message}` })
  if (stampOf(claim) !== commandId)
    return refused(`${annotations.disruptionCommand} does not name the command any more`)
  const { nodePool, nodeName, name: nodeClaim } = ref
  const paused = pauses.covering({ nodePool, node: nodeName, nodeClaim, reason: methodFacts[method].reason })
  if (paused !== undefined) return refused(pauseText('disruption', paused))
  const hold = holdOf(claim, deps.now())
  if (hold !== undefined) return refused(heldText(hold))
  const node = await readNode(deps, claim)
  if (hasLostNode(claim, node)) return refused(`its Node ${nodeName} is gone, or is not the registered one any more`)
  if (node === undefined) return { kind: 'free', ref, claim, pods: 0 }
  const isRepair = methodFacts[method].disruptionClass === 'repair'
  const recovered = isRepair ? repairRefusal(deps, { node, claim }) : undefined
  if (recovered !== undefined) return refused(recovered)
  if (!isRepair && [node, claim].some(({ metadata }) => metadata.annotations[annotations.doNotDisrupt] === 'true'))
    return refused(`the node has ${annotations.doNotDisrupt} by now`)
  const pods = await livePodsOn(deps, node.metadata.name)
  const moved = pods.find(isReschedulable)
  if (method === 'emptiness' && moved !== undefined)
    return refused(`pod ${podName(moved)} runs there by now, so it is not empty`)
  const isBinding = bindsPods(claim, { method, repair })
  const blocking = pods.find((pod) => isActive(pod) && hasDoNotDisrupt(pod, deps.now()))
  if (isBinding && blocking !== undefined)
    return refused(`pod ${podName(blocking)} has ${annotations.doNotDisrupt} by now`)
  return { kind: 'free', ref, claim, pods: pods.filter(isReschedulable).length }
}

/** Returns why a node is not repaired after all: it has recovered, its owner forbids it by now, or nobody here knows for how long it has been sick. */
function repairRefusal(
  { repairPolicies, now, serverTime }: CandidatesDeps,
  { node, claim }: { readonly node: Node; readonly claim: NodeClaim },
): string | undefined {
  if (isRepairForbidden(node)) return `the Node has ${annotations.doNotRepair} by now`
  if (serverTime.isOwnWrong()) return causeText({ kind: 'clock-wrong' })
  const state = repairState({ node, claim, now: now() }, repairPolicies)
  if (state.kind === 'due') return undefined
  return state.kind === 'healthy'
    ? 'the Node is healthy again'
    : `the Node was healthy since; its condition ${state.condition} is tolerated again`
}

/** Returns whether pods with do-not-disrupt keep a node: unless a time is set after which they go all the same. */
function bindsPods(
  { spec }: NodeClaim,
  { method, repair }: Pick<CommandWork, 'method'> & { readonly repair: CommandWork['repair'] | undefined },
): boolean {
  const { disruptionClass } = methodFacts[method]
  if (disruptionClass === 'repair') return repair?.boundMs === undefined
  return disruptionClass === 'graceful' || spec.terminationGracePeriod === undefined
}

/** Deletes a candidate that was free. Returns `refused` where the claim has changed since, and must stay. */
async function remove(
  deps: CandidatesDeps,
  { ref, claim, pods }: Extract<Look, { readonly kind: 'free' }>,
  looking: Looking,
): Promise<Look> {
  const { method, repair } = looking
  let look: Look = { kind: 'going' }
  const mayGo = async (live: NodeClaim) => {
    look = await judge(deps, { ref, claim: live }, looking)
    return look.kind === 'free'
  }
  const boundMs = repair?.boundMs
  const bound = boundMs === undefined ? claim : await boundTermination(deps, ref, deps.now() + boundMs)
  if (bound === undefined || (bound !== claim && !(await mayGo(bound)))) return look
  // A DELETE may be long on its way: by then the node may be held, or free of the command.
  if (!(await deleteClaim(deps, ref, { claim: bound, mayGo }))) return look
  publishDisruption(deps, claim)
  if (repair !== undefined) deps.lifecycleMetrics.repaired(claim, repair)
  const pool = deps.cache.nodePools.get(claim.metadata.labels[labels.nodePool] ?? '')
  deps.disruptionMetrics.disrupted({
    nodeClaim: claim,
    why: { method },
    policy: pool?.disruption.consolidationPolicy,
    reschedulablePods: pods,
  })
  return { kind: 'going' }
}

/** Publishes a disruption on both objects, once for each reason (reference/karpenter-core.md 6.2). */
function publishDisruption(deps: CandidatesDeps, claim: NodeClaim): void {
  const why = conditionOf(claim.status.conditions, 'DisruptionReason')?.reason ?? 'Unknown'
  const node = claimNode(deps, claim)
  for (const object of node === undefined ? [claim] : [claim, node]) {
    const values = [object.metadata.uid, why]
    const message = `Disrupting ${object.kind}: ${why}`
    deps.events.record({ about: subject(object), reason: 'DisruptionTerminating', message, values })
  }
}

/** Errors: the deletion of a candidate was taken back; the next attempt judges it again. */
async function untilGone(
  deps: CandidatesDeps,
  { commandId, candidates }: CommandWork,
  signal: AbortSignal,
): Promise<void> {
  const stays = (claim: NodeClaim | undefined) => claim !== undefined && claim.metadata.deletionTimestamp === undefined
  const isSettled = (claim: NodeClaim | undefined) =>
    claim === undefined || (stays(claim) && stampOf(claim) !== commandId)
  const topics = candidates.map(({ name }) => claimTopic(name))
  const look = () => (candidates.every((ref) => isSettled(cachedClaim(deps, ref))) ? true : undefined)
  while ((await untilDeadline(lookMs, signal, (both) => deps.cache.waitFor(topics, look, both))) === 'timeout')
    for (const ref of candidates.filter((one) => stays(cachedClaim(deps, one)))) {
      const claim = await liveClaim(deps, ref)
      if (stays(claim) && !isSettled(claim))
        throw new Error(
          `NodeClaim ${ref.name}: its deletion was taken back, as a restore of etcd does; the command looks at it again`,
        )
    }
}

/** Counts savings. Each pool of a command gets the share of its nodes. */
function measureSavings(deps: CandidatesDeps, { method, candidates, savings }: CommandWork): void {
  for (const [pool, own] of Map.groupBy(candidates, ({ nodePool }) => nodePool))
    deps.disruptionMetrics.saved(method, pool, (savings * own.length) / candidates.length)
}

/**
 * Undoes a command: releases the candidates that still carry its id and are not being deleted, then gives up the replacements. Where a
 * candidate goes all the same its pods may need them, so they stay.
 */
export async function undoCommand(deps: CandidatesDeps, work: CommandWork): Promise<void> {
  const { commandId, candidates, replacements, method, decision } = work
  const going = await Promise.all(candidates.map((ref) => releaseCandidate(deps, ref, { commandId })))
  const kept = going.some(Boolean)
  const results = await Promise.all(replacements.map((ref) => releaseReplacement(deps, ref, { commandId, kept })))
  const uninitialized = results.filter(Boolean).length
  if (uninitialized > 0) deps.disruptionMetrics.queueFailed({ method, decision }, uninitialized)
}
