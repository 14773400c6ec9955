import { conditionOf, isTrue, nodeGone, outOfCapacity } from '../../../core/conditions.ts'
import type { EventReason } from '../../../core/events.ts'
import { because, deathOf, expired, factsOfClaim, joinTimes, nodeWasGone } from '../../../core/history/claim-facts.ts'
import type { Death, Leaving } from '../../../core/history/life.ts'
import { holdOf, holdText } from '../../../core/node-claim/hold.ts'
import { type LifecycleStep, nextStep } from '../../../core/node-claim/lifecycle.ts'
import { repairText } from '../../../core/node-claim/node-health.ts'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { labels, terminationFinalizer } from '../../../core/requirements/labels.ts'
import { activityScope } from '../../activity-context.ts'
import { cachedClaim, liveClaim, liveUnlessDeleting, setClaimConditions, updateClaim } from '../client/object-writes.ts'
import type { ClaimRef, GiveUpOutcome, GiveUpReason, KubernetesActivities, NextStep, Observation } from '../contract.ts'
import { subject } from '../event-recorder.ts'
import type { NodePoolHealthDeps } from '../node-pools/node-pool-health.ts'
import { recordRegistration } from '../node-pools/node-pool-health.ts'
import type { Parts, WriteDeps } from '../parts.ts'
import { countDisruption, deleteClaim } from './claim-deletion.ts'
import { claimNode, claimNodes, readNode } from './claim-nodes.ts'
import type { NodeGoneDeps } from './node-gone.ts'
import { limitsOf, mayEndWithoutNode, reportEndWithoutNode, withNode } from './node-gone.ts'
import type { NodeHealthDeps } from './node-health.ts'
import { announceInterruption, momentOf, prepareRepair, withoutEnd } from './node-health.ts'
import type { NodeRequestsDeps } from './node-requests.ts'
import { reportRetry } from './node-requests.ts'

export type ObserveDeps = NodeRequestsDeps &
  NodeHealthDeps &
  NodePoolHealthDeps &
  NodeGoneDeps &
  Pick<Parts, 'lifecycleMetrics'>

/** Reads a claim and returns the next step of its lifecycle. */
export async function observe(
  deps: ObserveDeps,
  ref: ClaimRef,
  retried?: Parameters<KubernetesActivities['observe']>[0]['retried'],
): Promise<Observation> {
  if (retried !== undefined) reportRetry(deps, ref, retried)
  let claim = await liveUnlessDeleting(deps, ref)
  if (claim !== undefined && claim.metadata.deletionTimestamp === undefined) claim = await prepare(deps, ref, claim)
  let node = claim && claimNode(deps, claim)
  if (claim !== undefined && claim.metadata.deletionTimestamp === undefined)
    ({ claim, node } = await withNode(deps, claim))
  const view = { node, rules: deps.nodeRules, nodeGone: limitsOf(deps) }
  const due = nextStep(claim, { uid: ref.uid, ...momentOf(deps) }, view)
  const step = await acted(deps, { ref, claim }, due)
  if (claim === undefined) return { step }
  const leaving = step.kind === 'terminate' ? leavingFacts(deps, { claim, due, node: view.node }) : {}
  return { step, ...shown(claim, deps.now()), ...leaving }
}

/** Returns why and since when a claim is being deleted. `due`: the step that may have deleted it just now. */
function leavingFacts(
  deps: ObserveDeps,
  { claim, due, node }: { readonly claim: NodeClaim; readonly due: LifecycleStep; readonly node: Node | undefined },
): Leaving {
  const drainingMs = Date.parse(claim.metadata.deletionTimestamp ?? new Date(deps.now()).toISOString())
  return { drainingMs, went: deathOf(claim, node, deps.nodeRules) ?? deathBy(due, claim) }
}

function deathBy(step: LifecycleStep, claim: NodeClaim): Death {
  switch (step.kind) {
    case 'expire':
      return expired(step.expiredAtMs)
    case 'interrupt':
      return because('interrupted', step.interruption.condition)
    case 'endWithoutNode':
      return nodeWasGone(conditionOf(claim.status.conditions, nodeGone))
    case 'repair':
      return because('repaired', repairText(step.repair))
    default:
      return { kind: 'deleted' }
  }
}

/** Carries out a step that deletes the claim, and returns what is left for its lifecycle to do. */
async function acted(
  deps: ObserveDeps,
  { ref, claim: seen }: { readonly ref: ClaimRef; readonly claim: NodeClaim | undefined },
  step: LifecycleStep,
): Promise<NextStep> {
  if (step.kind === 'interrupt' || step.kind === 'repair')
    return seen === undefined ? { kind: 'finished' } : endedByNode(deps, ref, seen)
  const claim = seen && (await withoutEnd(deps, seen))
  switch (step.kind) {
    case 'expire':
      return claim === undefined
        ? { kind: 'finished' }
        : end(deps, claim, () => countDisruption(deps, claim, 'expired'))
    case 'endWithoutNode':
      return claim === undefined ? { kind: 'finished' } : endedWithoutNode(deps, claim)
    case 'launch':
    case 'steady':
      return step
    default:
      return { kind: step.kind }
  }
}

/**
 * Deletes a claim as it was judged; `deleted` is called if this call did it. One that has changed while the DELETE was on its way is judged again: it may
 * be held by then, or its Node be back.
 */
async function end(deps: ObserveDeps, claim: NodeClaim, deleted: () => void): Promise<NextStep> {
  const { name, uid } = claim.metadata
  let changed: NodeClaim | undefined
  const mayGo = (live: NodeClaim) => {
    changed = live
    return Promise.resolve(false)
  }
  if (await deleteClaim(deps, { name, uid }, { claim, mayGo })) deleted()
  return changed === undefined ? { kind: 'terminate' } : judgedAgain(deps, changed)
}

async function judgedAgain(deps: ObserveDeps, claim: NodeClaim): Promise<NextStep> {
  const { name, uid } = claim.metadata
  const view = { node: await readNode(deps, claim), rules: deps.nodeRules, nodeGone: limitsOf(deps) }
  return acted(deps, { ref: { name, uid }, claim }, nextStep(claim, { uid, ...momentOf(deps) }, view))
}

/** Deletes a claim because of its Node's conditions, if the Node still has them when it is read past the cache. */
async function endedByNode(deps: ObserveDeps, ref: ClaimRef, claim: NodeClaim): Promise<NextStep> {
  const node = await readNode(deps, claim)
  const view = { node, rules: deps.nodeRules, nodeGone: limitsOf(deps) }
  const due = (of: NodeClaim) => nextStep(of, { uid: ref.uid, ...momentOf(deps) }, view)
  const step = due(claim)
  if (node === undefined || (step.kind !== 'interrupt' && step.kind !== 'repair'))
    return acted(deps, { ref, claim }, step)
  if (step.kind === 'interrupt') {
    await announceInterruption(deps, ref, step.interruption)
  } else {
    // The repair depends on the conditions of the node's peers, which only the watch reports.
    await deps.cache.connected(activityScope().signal)
    const verdict = await prepareRepair(deps, ref, { claim, node, repair: step.repair })
    if (verdict !== 'delete') {
      const rules = { ...deps.nodeRules, repairs: [] }
      const otherwise = nextStep(claim, { uid: ref.uid, ...momentOf(deps) }, { node, rules })
      const next = await acted(deps, { ref, claim }, otherwise)
      return next.kind === 'steady' ? verdict : next
    }
  }
  // What was written on it just now came with what others had written before: a hold, for one.
  const written = cachedClaim(deps, ref) ?? claim
  const still = due(written)
  if (still.kind !== step.kind) return acted(deps, { ref, claim: written }, still)
  return end(deps, written, () => {
    countDisruption(deps, claim, step.kind === 'interrupt' ? 'interrupted' : 'unhealthy')
    if (step.kind === 'repair') deps.lifecycleMetrics.repaired(claim, { condition: step.repair.type, boundMs: 0 })
  })
}

/** Deletes a claim whose Node has been gone for too long, where that is proved and not too much at once. */
async function endedWithoutNode(deps: ObserveDeps, claim: NodeClaim): Promise<NextStep> {
  const verdict = await mayEndWithoutNode(deps, claim)
  if (verdict !== 'delete') return verdict
  return end(deps, claim, () => {
    reportEndWithoutNode(deps, claim)
    countDisruption(deps, claim, 'node_gone')
  })
}

/** Sets the finalizer of a claim that no planner made; deletes a claim one of whose Nodes is being deleted. */
async function prepare(deps: ObserveDeps, ref: ClaimRef, claim: NodeClaim): Promise<NodeClaim | undefined> {
  if (claimNodes(deps, claim).some(({ metadata }) => metadata.deletionTimestamp !== undefined)) {
    await deleteClaim(deps, ref)
    return liveClaim(deps, ref)
  }
  return withFinalizer(deps, claim)
}

/** Returns the claim with the finalizer, which must be set before its VM is made; undefined when it is gone. A deleting one stays as it is. */
export async function withFinalizer(deps: WriteDeps, claim: NodeClaim): Promise<NodeClaim | undefined> {
  if (claim.metadata.finalizers.includes(terminationFinalizer)) return claim
  const { name, uid } = claim.metadata
  return updateClaim(deps, { name, uid }, ({ metadata: { finalizers, deletionTimestamp } }) =>
    finalizers.includes(terminationFinalizer) || deletionTimestamp !== undefined
      ? undefined
      : { metadata: { finalizers: [...finalizers, terminationFinalizer] } },
  )
}

function shown(claim: NodeClaim, now: number): Omit<Observation, 'step'> {
  const own = claim.metadata.labels
  const hold = holdOf(claim, now)
  const facts = {
    hold: hold && holdText(hold),
    nodePool: own[labels.nodePool],
    nodeName: claim.status.nodeName,
    instanceType: own[labels.instanceType],
    capacityType: own[labels.capacityType],
    zone: own[labels.zone],
    vm: factsOfClaim(claim).vms[0],
  }
  return {
    ...Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)),
    ...joinTimes(claim),
  }
}

const eventReasons: Readonly<Record<GiveUpReason, EventReason>> = {
  insufficient_capacity: outOfCapacity,
  nodeclass_not_ready: 'NodeClassNotReady',
  invalid_nodeclaim: 'InvalidNodeClaim',
  launch_timeout: 'LaunchTimeout',
  registration_timeout: 'RegistrationTimeout',
}

/**
 * Ends a claim that cannot become a node: its pods are planned again. A claim that has its Node by then is kept for every reason; also one that has a VM,
 * if it is to end for want of one.
 */
export async function giveUp(
  deps: ObserveDeps,
  { claim: ref, reason, message }: Parameters<KubernetesActivities['giveUp']>[0],
): Promise<GiveUpOutcome> {
  const claim = await liveClaim(deps, ref)
  if (claim === undefined) return { kind: 'ended' }
  if (await isKept(deps, claim, reason)) return { kind: 'kept' }
  deps.events.record({
    about: subject(claim),
    reason: eventReasons[reason],
    message: `NodeClaim ${ref.name} event: ${message}`,
  })
  deps.log.warn({ nodeClaim: ref.name, reason, why: message }, 'gave up nodeclaim')
  const judged = reason === 'insufficient_capacity' ? await withoutCapacity(deps, ref, message) : claim
  if (judged === undefined) return { kind: 'ended' }
  if (judged !== claim && (await isKept(deps, judged, reason))) return { kind: 'kept' }
  if (reason === 'launch_timeout' || reason === 'registration_timeout') await recordRegistration(deps, claim, false)
  let kept = false
  const mayGo = async (live: NodeClaim) => {
    kept = await isKept(deps, live, reason)
    return !kept
  }
  if (await deleteClaim(deps, ref, { claim: judged, mayGo })) countDisruption(deps, claim, reason)
  return { kind: kept ? 'kept' : 'ended' }
}

/** Says on a claim why no VM was made. The planner reads it there, and reports it on the pods that it planned onto the claim. */
function withoutCapacity(deps: ObserveDeps, ref: ClaimRef, message: string): Promise<NodeClaim | undefined> {
  return setClaimConditions(deps, ref, ({ status }) =>
    isTrue(status.conditions, 'Launched')
      ? undefined
      : {
          conditions: [{ type: 'Launched', status: 'Unknown', reason: outOfCapacity, message: message.slice(0, 1024) }],
        },
  )
}

/** Nodes are registered while Temporal is away, too. */
async function isKept(deps: ObserveDeps, claim: NodeClaim, reason: GiveUpReason): Promise<boolean> {
  if (isTrue(claim.status.conditions, 'Registered')) return true
  if (reason === 'registration_timeout') return (await readNode(deps, claim)) !== undefined
  return reason === 'launch_timeout' && hasVm(deps, claim)
}

/**
 * Whether a claim has a VM, by what the API server has: its launch was recorded, or its own Node has joined. The launch that found none asks the same:
 * a Node that only the cache or its owner reference shows would have both asked in turn, for ever.
 */
async function hasVm(deps: ObserveDeps, claim: NodeClaim): Promise<boolean> {
  return isTrue(claim.status.conditions, 'Launched') || (await readNode(deps, claim)) !== undefined
}
