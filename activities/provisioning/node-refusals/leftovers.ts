import { readyTime } from '../../../core/history/claim-facts.ts'
import type { Node, Pod } from '../../../core/objects.ts'
import { podName } from '../../../core/pods/pod-rules.ts'
import { fits } from '../../../core/resources.ts'
import { leftoverVerdict } from '../../../core/scheduling/node-verdict.ts'
import { untolerated } from '../../../core/taints.ts'
import { timeText } from '../../../core/values/time.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import { podClass } from '../../scheduler-thread/pod-fingerprint.ts'
import { BackOff } from '../back-off.ts'
import type { PlannerParts } from '../parts.ts'
import type { MadeNodes } from './made-nodes.ts'

type LeftoversDeps = Pick<PlannerParts, 'cache' | 'nominations' | 'events' | 'log' | 'now'>

const longestMs = 30 * 60_000

/** A node that has room for a pod, and that kube-scheduler does not bind it to. */
interface Contradiction {
  /** The Node or NodeClaim that the pod was planned onto. */
  readonly target: string
  readonly node: string
  readonly message: string
}

/** Why a pod is not planned although a node has room for it. */
export interface LeftoverReason {
  readonly node: string
  readonly text: string
}

/**
 * Pods that are still pending although the node that they were planned onto is up. kube-scheduler takes any of equal pods: where others took the
 * room, the nomination ends and they are planned again with their like. Where there is room and kube-scheduler does not use it, the nomination ends
 * too, and the pod is planned again at growing intervals: no other node is bought for it while there is room. Kept in memory: after a restart the
 * same follows from the cluster.
 */
export class Leftovers {
  readonly #backOff = new BackOff(longestMs)
  /** By the pods' UIDs, until they are bound or the room is gone. */
  readonly #contradicted = new Map<string, Contradiction>()

  /** Forgets all pods but these. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const uid of this.#contradicted.keys()) if (!uids.has(uid)) this.#release(uid)
  }

  /** Looks at a pending pod. `isOwed`: whether the node that it is planned onto was made for it and reports less than was promised. */
  judge(deps: LeftoversDeps, { made, pod }: { made: MadeNodes; pod: Pod }, isOwed: () => boolean): void {
    const { cache, nominations, now } = deps
    const { uid } = pod.metadata
    const before = this.#contradicted.get(uid)
    const planned = nominations.targetOf(uid)
    const place = made.placeNamed(planned ?? before?.target ?? '')
    const hasRoom = place !== undefined && fits(pod.requests, place.free)
    if (before !== undefined && !(hasRoom && isOpen(place.node, pod))) this.#release(uid)
    if (planned === undefined || place === undefined) return
    if (!hasRoom) {
      if (!isOwed()) nominations.forget(uid)
      return
    }
    const { readyMs = 0 } = place.claim === undefined ? {} : readyTime(place.claim)
    const plan = {
      sinceMs: Math.max(nominations.plannedSince(uid) ?? 0, readyMs),
      lastMs: nominations.plannedAt(uid) ?? 0,
    }
    const verdict = leftoverVerdict(pod, plan, before?.message)
    const node = place.node.metadata.name
    if (verdict.kind === 'refused' && !made.isComing(podClass(cache, pod), now()) && !made.isChosen(pod, node))
      this.#contradict(deps, pod, { target: planned, node, message: verdict.message })
  }

  /** Whether a pod has to wait before it is planned again. */
  isWaiting({ metadata }: Pod, now: number): boolean {
    return this.#contradicted.has(metadata.uid) && this.#backOff.isResting(metadata.uid, now)
  }

  /** Returns why a pod waits; undefined when there is no reason here. */
  reasonOf({ metadata: { uid } }: Pod): LeftoverReason | undefined {
    const found = this.#contradicted.get(uid)
    if (found === undefined) return undefined
    const { node, message } = found
    const until = timeText(this.#backOff.endOf(uid))
    return {
      node,
      text: `node ${node} has room, and kube-scheduler does not bind to it; the next plan is made from ${until} on, or when that room is gone; kube-scheduler says: ${message}`,
    }
  }

  #contradict({ nominations, events, log, now }: LeftoversDeps, pod: Pod, found: Contradiction): void {
    const { uid } = pod.metadata
    nominations.forget(uid)
    this.#contradicted.set(uid, found)
    this.#backOff.failed(uid, now())
    const fields = { pod: podName(pod), node: found.node, why: found.message }
    log.info(fields, 'kube-scheduler did not bind pod to the node that has room for it, backing off')
    events.record({ about: subject(pod), reason: 'NodeRefused', message: this.reasonOf(pod)?.text ?? '' })
  }

  #release(uid: string): void {
    this.#contradicted.delete(uid)
    this.#backOff.succeeded(uid)
  }
}

/** Preferences do not keep a pod away. */
function isOpen({ taints }: Node, { tolerations }: Pod): boolean {
  const hard = taints.filter(({ effect }) => effect !== 'PreferNoSchedule')
  return untolerated(hard, tolerations).length === 0
}
