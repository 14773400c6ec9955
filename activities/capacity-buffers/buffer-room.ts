import { bufferPlaces } from '../../core/capacity-buffer/buffer-plan.ts'
import { isVirtual } from '../../core/capacity-buffer/buffer-pods.ts'
import type { CapacityBuffer } from '../../core/capacity-buffer/capacity-buffer.ts'
import type { Node, NodeClaim, Pod } from '../../core/objects.ts'
import { isTerminal, podName } from '../../core/pods/pod-rules.ts'
import type { SchedulingPlan } from '../../core/scheduling/snapshot.ts'
import { unschedulableText } from '../../core/scheduling/unschedulable-text.ts'
import { shortened } from '../../core/values/texts.ts'
import type { ClusterChange } from '../kubernetes/cache/change-feed.ts'

import { type BufferState, bufferStates } from './buffer-states.ts'
import { BufferStatuses, type BufferStatusesDeps } from './buffer-statuses.ts'

/** Longest part of a reason in a condition. */
const mostText = 300

/**
 * The virtual pods of CapacityBuffers, made from what the cache has: nothing of them is stored, so a restart finds the same ones. Without the gate
 * CapacityBuffer no buffer is watched, and all of this does nothing.
 */
export class BufferRoom {
  readonly #deps: BufferStatusesDeps
  readonly #passes = new BufferPasses()
  readonly #statuses: BufferStatuses
  #states: ReadonlyMap<string, BufferState> = new Map()
  /** Those that the pass under way plans for; others may have come since. */
  #begun: ReadonlyMap<string, BufferState> = new Map()
  /** Objects that buffers refer to, by kind and key. */
  #wanted: ReadonlySet<string> = new Set()
  #isStale = true

  constructor(deps: BufferStatusesDeps) {
    this.#deps = deps
    this.#statuses = new BufferStatuses(deps)
    deps.cache.onChange((change) => this.#learn(change))
  }

  /** When the loop has to look at buffers, in epoch ms. */
  get dueAt(): number {
    return this.#isStale ? Number.NEGATIVE_INFINITY : this.#passes.dueAt(this.#deps.now())
  }

  /** Returns the virtual pods as they are now. Schedulers learn of those that changed. */
  pods(): readonly Pod[] {
    const { cache, now } = this.#deps
    if (this.#isStale) {
      this.#isStale = false
      this.#states = bufferStates(cache, this.#states)
      this.#wanted = new Set([...this.#states.values()].map(({ buffer }) => referenceOf(buffer)))
      const pods = [...this.#states.values()].flatMap((state) => state.pods)
      if (cache.virtualPods.replace(new Map(pods.map((pod) => [podName(pod), pod])))) this.#passes.changed(now())
      this.#statuses.write(this.#states)
    }
    return [...cache.virtualPods.values()]
  }

  isDue(): boolean {
    this.pods()
    const now = this.#deps.now()
    return this.#passes.dueAt(now) <= now
  }

  /** Records that what can be bought changed, or where. */
  touched(): void {
    if (this.#states.size > 0) this.#passes.touched(this.#deps.now())
  }

  /** Begins a pass. Returns its virtual pods. */
  begin(): readonly Pod[] {
    const pods = this.pods()
    this.#begun = this.#states
    this.#passes.began(this.#deps.now())
    return pods
  }

  /** Records what a pass decided for virtual pods; without a plan it failed. */
  passed(plan: SchedulingPlan | undefined): void {
    const { cache, now } = this.#deps
    if (this.#states.size === 0) return this.#passes.ended(now(), undefined)
    const causes = plan === undefined ? new Map<string, string>() : causesOf(plan)
    const isPlanned = plan !== undefined && !plan.stopped && causes.size === 0
    this.#passes.ended(now(), isPlanned || cache.virtualPods.size === 0)
    if (plan !== undefined) this.#statuses.placed(this.#begun, { places: bufferPlaces(plan, isVirtual), causes })
    // A write that failed is repeated, also where no buffer has pods.
    this.#statuses.write(this.#states)
  }

  /** Resolves when no write of a status is under way. */
  settled(): Promise<void> {
    return this.#statuses.settled()
  }

  #learn(change: ClusterChange): void {
    const { kind, key } = change
    if (kind === 'CapacityBuffer') this.#isStale ||= isOtherBuffer(change)
    else if (this.#wanted.has(`${kind}/${key}`)) this.#isStale = true
    else if (this.#states.size > 0 && changesRoom(change)) this.#passes.touched(this.#deps.now())
  }
}

/** Returns why pods have no place: of each buffer, the reason of its first. */
function causesOf({ unschedulable }: SchedulingPlan): ReadonlyMap<string, string> {
  const causes = new Map<string, string>()
  for (const { pod, cause } of unschedulable)
    if (pod.buffer !== undefined && !causes.has(pod.buffer))
      causes.set(pod.buffer, shortened(unschedulableText(cause), mostText))
  return causes
}

/** What a buffer refers to, as `kind/namespace/name`. */
function referenceOf({ metadata, podTemplate, scalable }: CapacityBuffer): string {
  const { namespace = 'default' } = metadata
  return podTemplate === undefined
    ? `${scalable?.kind}/${namespace}/${scalable?.name}`
    : `PodTemplate/${namespace}/${podTemplate}`
}

/** Whether more than the status of a buffer changed. */
function isOtherBuffer({ before, after }: ClusterChange): boolean {
  const facts = (one: ClusterChange['after']) =>
    one && [one.metadata.uid, one.metadata.generation, one.metadata.deletionTimestamp].join(' ')
  return facts(before) !== facts(after)
}

/** Whether room on nodes may have gone or come: pods were bound or ended, places came, went or changed. */
function changesRoom({ kind, before, after }: ClusterChange): boolean {
  if (kind === 'Pod') {
    const holds = (pod: Pod | undefined) => (pod === undefined || isTerminal(pod) ? '' : (pod.nodeName ?? ''))
    return holds(before as Pod | undefined) !== holds(after as Pod | undefined)
  }
  if (kind !== 'Node' && kind !== 'NodeClaim') return false
  const place = (one: ClusterChange['after']) => {
    const { unschedulable, taints } = (one ?? {}) as Partial<Node>
    const gone = (one as Node | NodeClaim | undefined)?.metadata.deletionTimestamp
    return JSON.stringify([one === undefined, gone, unschedulable, taints])
  }
  return place(before) !== place(after)
}

/** Time after a change of the cluster until buffers are looked at again: pods come in bursts. */
const settleMs = 1000
/** Interval of passes without a change. */
const lookEveryMs = 30_000
/** Interval of passes while a virtual pod has no place: as pods are tried again. */
const retryMs = 10_000
/** Passes for buffers alone take up no more than a fifth of a core, however fast pods come and go. */
const restPerWork = 4

/** When buffers have to be planned again. Passes that pods ask for do not depend on it. Times are epoch ms. */
export class BufferPasses {
  #dueAt = Number.POSITIVE_INFINITY
  #restUntil = Number.NEGATIVE_INFINITY
  #beganAt = 0
  #endedAt = Number.NEGATIVE_INFINITY

  /** When that is. A pass that ended at a time to come was before the clock was set back: then it is now. */
  dueAt(now: number): number {
    return now < this.#endedAt ? now : this.#dueAt
  }

  /** Records that buffers ask for other pods than before. */
  changed(now: number): void {
    this.#bringForward(Math.max(now, this.#restUntil))
  }

  /** Records a change of the cluster that may have taken a buffer's room, or made some. */
  touched(now: number): void {
    this.#bringForward(Math.max(now + settleMs, this.#restUntil))
  }

  /** Records that a pass begins: later changes may not be in it. */
  began(now: number): void {
    this.#beganAt = now
    this.#dueAt = Number.POSITIVE_INFINITY
  }

  /** Records its end. `isComplete`: every virtual pod has a place. Undefined: there are no buffers. */
  ended(now: number, isComplete: boolean | undefined): void {
    this.#endedAt = now
    this.#restUntil = now + Math.max(settleMs, restPerWork * (now - this.#beganAt))
    if (isComplete !== undefined)
      this.#bringForward(Math.max(this.#restUntil, now + (isComplete ? lookEveryMs : retryMs)))
  }

  #bringForward(at: number): void {
    this.#dueAt = Math.min(this.#dueAt, at)
  }
}
