import { conditionOf } from '../../core/conditions.ts'
import { isConsolidatable } from '../../core/disruption/consolidatable.ts'
import type { NodeClaim, Pod } from '../../core/objects.ts'
import { isDaemonPod, isTerminal, isTerminating } from '../../core/pods/pod-rules.ts'
import { labels } from '../../core/requirements/labels.ts'
import { timeText } from '../../core/values/time.ts'
import { forEachOf } from '../concurrency.ts'
import { setClaimConditions } from '../kubernetes/client/object-writes.ts'
import { nodeClaimOf } from '../kubernetes/lifecycle/claim-nodes.ts'
import type { Parts, WriteDeps } from '../kubernetes/parts.ts'

export type PodEventsDeps = WriteDeps & Pick<Parts, 'log'>

/** Time within which several events of one node are one write (reference/karpenter-core.md 4.4). */
const dedupeMs = 10_000
const concurrency = 20

/**
 * Keeps `status.lastPodEventTime` of NodeClaims: when a pod was last bound to the node, ended or began to end. consolidateAfter counts from it.
 * Events that no process watched are read from the present pods, with their own times: a restart alone is no event. Returns the function that
 * ends it.
 */
export function trackPodEvents(deps: PodEventsDeps): () => void {
  const tracker = new PodEventTracker(deps)
  let isEnded = false
  const end = deps.cache.onChange(({ kind, before, after }) => {
    if (kind === 'Pod') tracker.changed(before as Pod | undefined, after as Pod | undefined)
  })
  void deps.cache.synced().then(() => (isEnded ? undefined : tracker.begin()))
  return () => {
    isEnded = true
    end()
  }
}

class PodEventTracker {
  readonly #deps: PodEventsDeps
  readonly #pending = new Set<string>()
  /** Pods may be known before their nodes are: until all are, nothing is recorded. */
  #hasBegun = false

  constructor(deps: PodEventsDeps) {
    this.#deps = deps
  }

  async begin(): Promise<void> {
    this.#hasBegun = true
    const last = new Map<NodeClaim, number>()
    for (const pod of this.#deps.cache.pods.values()) {
      const claim = this.#claimOf(pod)
      if (claim !== undefined) last.set(claim, Math.max(last.get(claim) ?? 0, this.#lastEventOf(pod)))
    }
    await forEachOf([...last], concurrency, ([claim, at]) => this.#note(claim, at))
  }

  changed(before: Pod | undefined, after: Pod | undefined): void {
    const pod = after ?? before
    if (!this.#hasBegun || pod === undefined || !isEvent(before, after)) return
    const claim = this.#claimOf(pod)
    if (claim !== undefined) void this.#note(claim, before === undefined ? this.#lastEventOf(pod) : this.#deps.now())
  }

  /** Returns a time not later than now: the clock of the scheduler or of a kubelet may be ahead of this one. */
  #lastEventOf(pod: Pod): number {
    return Math.min(lastEventOf(pod), this.#deps.now())
  }

  #claimOf(pod: Pod): NodeClaim | undefined {
    if (pod.nodeName === undefined || isDaemonPod(pod)) return undefined
    return nodeClaimOf(this.#deps, this.#deps.cache.nodes.get(pod.nodeName))
  }

  async #note({ metadata: { name, uid, deletionTimestamp }, status }: NodeClaim, atMs: number): Promise<void> {
    if (this.#pending.has(uid) || deletionTimestamp !== undefined) return
    // consolidateAfter of a new node counts from its initialization, so the pods that it was made for are no event.
    const initialized = conditionOf(status.conditions, 'Initialized')
    if (initialized?.status !== 'True') return
    const countsFrom = status.lastPodEventTime ?? initialized.lastTransitionTime
    if (countsFrom !== undefined && atMs - Date.parse(countsFrom) < dedupeMs) return
    this.#pending.add(uid)
    const lastPodEventTime = timeText(atMs)
    try {
      // With the time goes what it takes back, so that Consolidatable needs no write of its own.
      await setClaimConditions(this.#deps, { name, uid }, (claim) =>
        claim.metadata.deletionTimestamp === undefined
          ? { status: { lastPodEventTime }, clear: this.#takesBack(claim, lastPodEventTime) }
          : undefined,
      )
    } catch (error) {
      this.#deps.log.warn({ nodeClaim: name, err: error }, 'failed to write status.lastPodEventTime')
    } finally {
      this.#pending.delete(uid)
    }
  }

  /** Returns the conditions that a claim has no more once its last event was at that time. */
  #takesBack(claim: NodeClaim, lastPodEventTime: string): readonly string[] {
    const { cache, now } = this.#deps
    const pool = cache.nodePools.get(claim.metadata.labels[labels.nodePool] ?? '')
    if (pool === undefined) return []
    const after = { ...claim, status: { ...claim.status, lastPodEventTime } }
    return isConsolidatable(after, pool, now()) ? [] : ['Consolidatable']
  }
}

/** Returns whether a pod was just bound, ended, began to end or is gone. A bound pod that is seen for the first time was bound earlier. */
function isEvent(before: Pod | undefined, after: Pod | undefined): boolean {
  if (after === undefined) return before !== undefined && !isTerminal(before) && !isTerminating(before)
  if (before?.nodeName === undefined) return after.nodeName !== undefined
  return (isTerminal(after) && !isTerminal(before)) || (isTerminating(after) && !isTerminating(before))
}

/** Returns when a bound pod was last bound, ended or began to end, in epoch ms, as far as its status says. */
function lastEventOf(pod: Pod): number {
  const { creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata
  const ended = isTerminal(pod) ? pod.conditions : pod.conditions.filter(({ type }) => type === 'PodScheduled')
  const times = [creationTimestamp, ...ended.map(({ lastTransitionTime }) => lastTransitionTime)]
  const deletion =
    deletionTimestamp === undefined ? 0 : Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000
  return Math.max(deletion, ...times.map((time) => (time === undefined ? 0 : Date.parse(time))))
}
