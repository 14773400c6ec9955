import type { NodeClass } from '../../api/objects.ts'
import { isTrue } from '../../core/conditions.ts'
import type { Node, NodeClaim, NodePool, Pod } from '../../core/objects.ts'
import { isProvisionable, podName } from '../../core/pods/pod-rules.ts'
import { annotations } from '../../core/requirements/labels.ts'
import type { SchedulingPlan } from '../../core/scheduling/snapshot.ts'
import { activityScope, pauseFor } from '../activity-context.ts'
import type { UnavailableOfferings } from '../azure/capacity/unavailable-offerings.ts'
import type { ClusterChange } from '../kubernetes/cache/change-feed.ts'
import { subject } from '../kubernetes/event-recorder.ts'
import type { PauseDeps } from '../kubernetes/pauses/pauses.ts'
import { readPause } from '../kubernetes/pauses/pauses.ts'
import type { SolveDeps } from '../scheduler-thread/solve.ts'
import { isHeldBack, solve } from '../scheduler-thread/solve.ts'
import type { ThreadPlan } from '../scheduler-thread/solver-thread.ts'
import type { ProvisioningOutcome } from './contract.ts'
import type { CreateClaimsDeps } from './create-claims.ts'
import { createClaims, nominate } from './create-claims.ts'
import { Fence } from './fence.ts'
import type { PlanningSnapshotDeps } from './planning-snapshot.ts'
import { laggingKinds, podsToPlace } from './planning-snapshot.ts'

export interface NextProvisioningDeps extends PlanningSnapshotDeps, SolveDeps, CreateClaimsDeps, PauseDeps {
  readonly unavailable: UnavailableOfferings
  /** A batch of pods is closed after this long without a new one, in milliseconds. */
  readonly batchIdleMs: number
  /** And at the latest after this long. */
  readonly batchMaxMs: number
}

/** The long poll returns by itself after this time, so that its loop can checkpoint. */
const pollMs = 30 * 60_000
/** A pod that found no place is tried again after this time, or when nodes, pools or offerings change. */
const retryMs = 10_000
/** A pod with many constraints that the pass had no time for is planned again after this time. */
const postponedMs = 2000
const postponed =
  'pods with many constraints and preferences are planned after all others, and the pass had no time left; use fewer'
const burstMs = 20
/** How the reason begins why a pod is left out that keeps itself from every NodePool. */
const notOnOurNodes = 'configured to not run on a Karpenter provisioned node'

/**
 * Waits for pods that need a node, plans them and creates NodeClaims. Returns when it did something. The state it keeps in memory (which pods were
 * tried) only saves work: all decisions are taken from the cluster.
 */
export async function nextProvisioning(deps: NextProvisioningDeps, signal: AbortSignal): Promise<ProvisioningOutcome> {
  const untilMs = deps.now() + pollMs
  await deps.cache.synced()
  await deps.quarantine.refresh(true)
  const fence = await Fence.take(deps, activityScope().attemptId)
  const tried = new Map<string, number>()
  while (deps.now() < untilMs) {
    if (!(await podsNeedPlace(deps, tried, untilMs, signal))) return { kind: 'idle' }
    await batchWindow(deps, signal)
    if ((await readPause(deps, 'provisioning', deps.now())) !== undefined) return { kind: 'paused' }
    await deps.cache.catchUp(laggingKinds(deps), signal)
    await deps.unavailable.synced(signal)
    const outcome = await planOnce(deps, fence, tried)
    if (outcome !== undefined) return outcome
  }
  return { kind: 'idle' }
}

async function planOnce(
  deps: NextProvisioningDeps,
  fence: Fence,
  tried: Map<string, number>,
): Promise<ProvisioningOutcome | undefined> {
  const pods = podsToPlace(deps)
  deps.nominations.keepOnly(new Set(pods.map((pod) => pod.metadata.uid)))
  deps.metrics.waiting(pods)
  if (pods.length === 0) return undefined
  reportDropped(deps, pods)
  const waitsSinceMs = deps.metrics.undecidedSince(pods)
  const solvesSinceMs = deps.now()
  const plan = await solve(deps, pods)
  if (plan === undefined) return undefined
  deps.metrics.passed(plan)
  tellIgnoredPreferences(deps, pods)
  recordPlacements(deps, plan, tried)
  logPass(deps, pods.length, plan)
  if (plan.newNodeClaims.length === 0) return undefined
  const attributes = { 'joiner.pods': pods.length, 'joiner.nodeclaims': plan.newNodeClaims.length }
  const created = await deps.tracing.span('provisioning', { startMs: waitsSinceMs, attributes }, () => {
    deps.tracing.past('schedule', { startMs: solvesSinceMs })
    return createClaims(deps, fence, plan.newNodeClaims)
  })
  if (created.kind === 'paused') return { kind: 'paused' }
  // The pods back off: there is nothing to tell the loop.
  if (created.refused === plan.newNodeClaims.length) return undefined
  const placed = plan.newNodeClaims.reduce((sum, claim) => sum + claim.pods.length, 0)
  return {
    kind: 'planned',
    pods: placed,
    nodeClaims: created.names.length,
    unschedulable: plan.unschedulable.length,
    claims: created.names.slice(0, 20),
  }
}

/** What of pods is not looked at, because it is too much. */
function reportDropped({ events }: NextProvisioningDeps, pods: readonly Pod[]): void {
  for (const pod of pods) {
    const dropped = pod.excess?.dropped
    if (dropped !== undefined)
      events.record({ about: subject(pod), reason: 'PreferencesDropped', message: `Preferences dropped: ${dropped}` })
  }
}

/** A pass that changes nothing is repeated every few seconds: it is told to those who want to know all. */
function logPass({ log }: NextProvisioningDeps, pods: number, plan: ThreadPlan): void {
  const { newNodeClaims, existing, unschedulable, stopped, ignored, snapshotMs, solveMs } = plan
  const onNodes = existing.reduce((sum, place) => sum + place.pods.length, 0)
  const fields = {
    pods,
    nodeClaims: newNodeClaims.length,
    onNodes,
    unschedulable: unschedulable.length - ignored,
    ignored,
    snapshotMs,
    solveMs,
  }
  log[newNodeClaims.length > 0 ? 'info' : 'debug'](fields, 'planned pods')
  if (stopped) log.warn(fields, 'scheduling reached its time limit, remaining pods follow in the next pass')
}

function recordPlacements(deps: NextProvisioningDeps, plan: SchedulingPlan, tried: Map<string, number>): void {
  for (const { node, nodeClaim, pods } of plan.existing) {
    for (const pod of pods) nominate(deps, pod, placeOf(deps, node, nodeClaim))
  }
  for (const { pod, message } of plan.unschedulable) {
    tried.set(pod.metadata.uid, deps.now() + retryMs)
    tellUnschedulable(deps, pod, message)
  }
  deps.heavyPods.failed(
    plan.unschedulable.map(({ pod }) => pod),
    deps.now(),
  )
  for (const pod of plan.postponed ?? []) {
    tried.set(pod.metadata.uid, deps.now() + postponedMs)
    tellUnschedulable(deps, pod, postponed)
  }
  for (const { nodePool, byMinValues } of plan.incompatiblePools ?? []) {
    const found = deps.cache.nodePools.get(nodePool)
    const why = byMinValues ? ' due to minValues incompatibility' : ''
    const message = `NodePool requirements filtered out all compatible available instance types${why}`
    if (found) deps.events.record({ about: subject(found), reason: 'NoCompatibleInstanceTypes', message })
  }
}

function tellIgnoredPreferences({ events }: NextProvisioningDeps, pods: readonly Pod[]): void {
  for (const pod of pods) {
    const { ignoredPreferences: message } = pod
    if (message !== undefined) events.record({ about: subject(pod), reason: 'PreferenceIgnored', message })
  }
}

/** A claim whose Node has not joined is a place by itself. */
function placeOf({ cache }: NextProvisioningDeps, node: string, nodeClaim: string | undefined) {
  if (nodeClaim === undefined) return { node }
  return node === nodeClaim && cache.nodes.get(node) === undefined ? { nodeClaim } : { nodeClaim, node }
}

function tellUnschedulable(deps: NextProvisioningDeps, pod: Pod, message: string): void {
  deps.log.debug({ pod: podName(pod), why: message }, 'could not schedule pod')
  // Whoever keeps a pod from our nodes on purpose need not be told.
  if (message.includes(notOnOurNodes)) return
  deps.events.record({
    about: subject(pod),
    reason: 'FailedScheduling',
    message: `Failed to schedule pod, ${message.replace(/^ignoring pod, /, '')}`,
  })
}

/** Whether a pod needs a plan: it was not tried a moment ago, and it is not counted on by a node that is still to come. */
function needsPlan(deps: NextProvisioningDeps, pod: Pod, tried: ReadonlyMap<string, number>): boolean {
  if ((tried.get(pod.metadata.uid) ?? 0) > deps.now()) return false
  if (isHeldBack(deps, pod)) return false
  const target = deps.nominations.targetOf(pod.metadata.uid)
  if (target === undefined) return true
  const claim = deps.cache.nodeClaims.get(target)
  const waitedFor = claim ?? deps.cache.nodes.get(target)
  if (waitedFor === undefined || isDeleting(waitedFor)) return true
  // A pod that its node could take and that is still pending does not fit after all.
  const isUp = claim === undefined || isTrue(claim.status.conditions, 'Initialized')
  return isUp && !deps.nominations.targets(deps.now()).has(target)
}

/** Waits until pods need a plan. False: the time is over. */
async function podsNeedPlace(
  deps: NextProvisioningDeps,
  tried: Map<string, number>,
  untilMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const concerns = ({ kind, before, after }: ClusterChange) => {
    if (kind === 'Pod') return after !== undefined && isProvisionable(after as Pod)
    if (kind === 'NodePool' || kind === 'AKSNodeClass') {
      if (!isAnother(before as Provider | undefined, after as Provider | undefined)) return false
      tried.clear()
      deps.heavyPods.clear()
      return true
    }
    if (kind !== 'NodeClaim' && kind !== 'Node') return false
    return (before === undefined) !== (after === undefined || isDeleting(after)) || beginsToLeave(before, after)
  }
  while (deps.now() < untilMs) {
    await deps.quarantine.refresh()
    const pods = podsToPlace(deps)
    deps.metrics.waiting(pods)
    deps.quarantine.report(pods)
    if (pods.some((pod) => needsPlan(deps, pod, tried))) return true
    const lookAgain = pods.length > 0 ? deps.now() + retryMs : untilMs
    const next = Math.min(untilMs, lookAgain, ...[...tried.values()].filter((at) => at > deps.now()))
    const changed = await changeOrClear(deps, tried, Math.max(next - deps.now(), 10), concerns, signal)
    // A burst of changes is looked at once.
    if (changed) await pauseFor(burstMs, signal)
  }
  return false
}

/** As the cache's `changeWithin`; marks that somebody cleared are a change too, after which every pod is tried again. */
async function changeOrClear(
  { cache, unavailable }: NextProvisioningDeps,
  tried: Map<string, number>,
  ms: number,
  concerns: Parameters<NextProvisioningDeps['cache']['changeWithin']>[1],
  signal: AbortSignal,
): Promise<boolean> {
  const cleared = new AbortController()
  const end = unavailable.onCleared(() => {
    tried.clear()
    cleared.abort()
  })
  try {
    return await cache.changeWithin(ms, concerns, AbortSignal.any([signal, cleared.signal]))
  } catch (error) {
    if (!cleared.signal.aborted || signal.aborted) throw error
    return true
  } finally {
    end()
  }
}

type Provider = NodePool | NodeClass

/** Whether a pool or node class changed in what plans depend on: its status counts nodes, which changes all the time. */
function isAnother(before: Provider | undefined, after: Provider | undefined): boolean {
  if (before === undefined || after === undefined) return true
  const ready = (one: Provider) => isTrue(one.kind === 'NodePool' ? one.conditions : one.status.conditions, 'Ready')
  return (
    before.metadata.generation !== after.metadata.generation ||
    before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
    ready(before) !== ready(after)
  )
}

/** Whether a node or claim is on its way out by now and was not before. Of what is interrupted the Node tells first. */
function beginsToLeave(before: unknown, after: unknown): boolean {
  if (after === undefined || annotations.interrupted in (after as Node | NodeClaim).metadata.annotations) return false
  const isGoing = (object: unknown) => isDeleting(object) || (object as Partial<Node>).isInterrupted === true
  return isGoing(after) && (before === undefined || !isGoing(before))
}

function isDeleting(object: unknown): boolean {
  return (object as { metadata: { deletionTimestamp?: string } }).metadata.deletionTimestamp !== undefined
}

/**
 * Lets a burst arrive: until no new pod came and no node began to leave for the idle time, at most for the maximum
 * (reference/karpenter-core.md 3.1). Nodes count, since Azure takes many spot VMs back at once.
 */
async function batchWindow(deps: NextProvisioningDeps, signal: AbortSignal): Promise<void> {
  const endMs = deps.now() + deps.batchMaxMs
  let seen = new Set(podsToPlace(deps).map((pod) => pod.metadata.uid))
  let idleSinceMs = deps.now()
  for (;;) {
    const restMs = Math.min(idleSinceMs + deps.batchIdleMs, endMs) - deps.now()
    if (restMs <= 0) return
    const arrived = await deps.cache.changeWithin(
      restMs,
      ({ kind, before, after }) =>
        after !== undefined &&
        (kind === 'Pod'
          ? isProvisionable(after as Pod) && !seen.has(after.metadata.uid)
          : (kind === 'NodeClaim' || kind === 'Node') && beginsToLeave(before, after)),
      signal,
    )
    if (!arrived) return
    idleSinceMs = deps.now()
    await pauseFor(burstMs, signal)
    seen = new Set(podsToPlace(deps).map((pod) => pod.metadata.uid))
  }
}
