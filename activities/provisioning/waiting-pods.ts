// Waits for pods that need a plan and for static NodePools that lack nodes, and for a burst of pods to end.

import type { NodeClass } from '../../api/objects.ts'
import { isTrue } from '../../core/conditions.ts'
import type { Node, NodeClaim, NodeOverlay, NodePool, Pod } from '../../core/objects.ts'
import { isDaemonPod, isProvisionable } from '../../core/pods/pod-rules.ts'
import { annotations } from '../../core/requirements/labels.ts'
import { pauseFor } from '../activity-context.ts'
import type { AzureParts } from '../azure/parts.ts'
import type { ChangeFilter, ClusterChange } from '../kubernetes/cache/change-feed.ts'
import { nodeClaimOf } from '../kubernetes/lifecycle/claim-nodes.ts'
import { isHeldBack, type SolveDeps } from '../scheduler-thread/solve.ts'
import type { PlannerParts } from './parts.ts'
import { type PlanningSnapshotDeps, podsToPlace } from './planning-snapshot.ts'
import { type ShortagesDeps, shortages } from './static-capacity/shortages.ts'
import { staticMemoryOf } from './static-capacity/static-memory.ts'

export interface WaitingPodsDeps
  extends PlanningSnapshotDeps,
    SolveDeps,
    ShortagesDeps,
    Pick<AzureParts, 'unavailable'>,
    Pick<PlannerParts, 'metrics' | 'nominations' | 'buffers'> {
  /** Time without a new pod after which a batch is closed, in milliseconds. */
  readonly batchIdleMs: number
  /** Longest time until a batch is closed. */
  readonly batchMaxMs: number
}

/** Time after which a pod that found no place is tried again, unless nodes, pools or offerings change earlier. */
export const retryMs = 10_000
const burstMs = 20
/** Longest wait for a change while no pod waits. */
const idleMs = 30 * 60_000

/** When a pod that found no place is tried again, by its UID. */
type Tried = Map<string, number>

/** Returns whether a pod needs a plan: it was not tried just now, and no in-flight node is nominated for it. */
function needsPlan(deps: WaitingPodsDeps, pod: Pod, tried: ReadonlyMap<string, number>): boolean {
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

/**
 * Waits until pods or buffers need a plan, or static NodePools lack nodes, which comes first: pods may go there. Between two parts of a large shortage
 * it is the turn of pods.
 */
export async function nextWork(deps: WaitingPodsDeps, tried: Tried, signal: AbortSignal): Promise<'pods' | 'static'> {
  // What the wait began with; a change may make buffers due earlier.
  let next = Number.POSITIVE_INFINITY
  const concerns = ({ kind, before, after }: ClusterChange) => {
    if (deps.buffers.dueAt < next) return true
    if (kind === 'Pod')
      return after !== undefined && (isProvisionable(after as Pod) || tookRoom(deps, before as Pod, after as Pod))
    if (kind === 'NodePool' || kind === 'AKSNodeClass' || kind === 'NodeOverlay') {
      if (!isAnother(before as Provider | undefined, after as Provider | undefined)) return false
      tried.clear()
      deps.heavyPods.clear()
      deps.buffers.touched()
      return true
    }
    if (kind !== 'NodeClaim' && kind !== 'Node') return false
    return (before === undefined) !== (after === undefined || isDeleting(after)) || beginsToLeave(before, after)
  }
  for (;;) {
    await deps.quarantine.refresh()
    const pods = podsToPlace(deps)
    deps.metrics.waiting(pods)
    deps.quarantine.report(pods)
    deps.nodeRefusals.look(deps, pods)
    const short = shortages(deps)
    if (short.pools.length > 0 && !staticMemoryOf(deps).isTurnOfPods) return 'static'
    if (deps.buffers.isDue() || pods.some((pod) => needsPlan(deps, pod, tried))) {
      if (short.pools.length > 0) staticMemoryOf(deps).isTurnOfPods = false
      return 'pods'
    }
    if (short.pools.length > 0) return 'static'
    const retryAt = deps.now() + (pods.length > 0 ? retryMs : idleMs)
    next = Math.min(retryAt, short.retryAtMs, deps.buffers.dueAt)
    // As arguments of one call so many could be too many.
    for (const at of tried.values()) if (at > deps.now()) next = Math.min(next, at)
    const changed = await changeOrClear(deps, { tried, ms: Math.max(next - deps.now(), 10), concerns }, signal)
    // A burst of changes is evaluated once.
    if (changed) await pauseFor(burstMs, signal)
  }
}

/** Waits as the cache's `changeWithin`, and for cleared marks too, after which every pod is tried again. */
async function changeOrClear(
  { cache, unavailable, buffers }: WaitingPodsDeps,
  { tried, ms, concerns }: { readonly tried: Tried; readonly ms: number; readonly concerns: ChangeFilter },
  signal: AbortSignal,
): Promise<boolean> {
  const cleared = new AbortController()
  const end = unavailable.onCleared(() => {
    tried.clear()
    buffers.touched()
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

/** Whether a pod was just bound where others are planned: kube-scheduler takes any of equal pods, and the others may need another node. */
function tookRoom({ cache, nominations }: WaitingPodsDeps, before: Pod | undefined, after: Pod): boolean {
  const { nodeName } = after
  if (nodeName === undefined || before?.nodeName !== undefined || isDaemonPod(after)) return false
  const node = cache.nodes.get(nodeName)
  const planned = nominations.podsOf(nodeClaimOf({ cache }, node)?.metadata.name ?? nodeName)
  return planned.size > 0 && !planned.has(after.metadata.uid)
}

type Provider = NodePool | NodeClass | NodeOverlay

/** Returns whether a pool or node class changed in what plans depend on. Its status counts nodes, which changes all the time. */
function isAnother(before: Provider | undefined, after: Provider | undefined): boolean {
  if (before === undefined || after === undefined) return true
  const ready = (one: Provider) => isTrue(one.kind === 'AKSNodeClass' ? one.status.conditions : one.conditions, 'Ready')
  return (
    before.metadata.generation !== after.metadata.generation ||
    before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
    ready(before) !== ready(after)
  )
}

/** Returns whether a node or claim begins to leave with this change. On interruption the Node is updated before its NodeClaim. */
function beginsToLeave(before: unknown, after: unknown): boolean {
  if (after === undefined || annotations.interrupted in (after as Node | NodeClaim).metadata.annotations) return false
  const isGoing = (object: unknown) => isDeleting(object) || (object as Partial<Node>).isInterrupted === true
  return isGoing(after) && (before === undefined || !isGoing(before))
}

function isDeleting(object: unknown): boolean {
  return (object as { metadata: { deletionTimestamp?: string } }).metadata.deletionTimestamp !== undefined
}

/** When a pass is planned. */
export interface Round {
  readonly signal: AbortSignal
  /** Whether it is the first pass of this planner. The pods that it finds have waited already, while nobody planned. */
  readonly isFirst: boolean
}

/**
 * Waits for the end of a burst: until no new pod came and no node began to leave for the idle time, at most for the maximum
 * (reference/karpenter-core.md 3.1). Nodes count, since Azure reclaims many spot VMs at once.
 */
export async function batchWindow(deps: WaitingPodsDeps, { signal, isFirst }: Round): Promise<void> {
  const endMs = deps.now() + deps.batchMaxMs
  let pods = podsToPlace(deps)
  let idleSinceMs = isFirst ? lastCameMs(pods, deps.now()) : deps.now()
  for (;;) {
    const seen = new Set(pods.map((pod) => pod.metadata.uid))
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
    pods = podsToPlace(deps)
  }
}

/** When the last of these pods came, as far as their times say, which have whole seconds. A pod of a node that leaves has just come. */
function lastCameMs(pods: readonly Pod[], nowMs: number): number {
  const cameMs = ({ nodeName, metadata }: Pod) =>
    nodeName === undefined ? Date.parse(metadata.creationTimestamp) + 1000 : nowMs
  return pods.reduce((last, pod) => Math.min(Math.max(last, cameMs(pod)), nowMs), 0)
}
