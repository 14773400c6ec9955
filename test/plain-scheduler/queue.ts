import type { Pod } from '../../core/objects.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import { compareQuantity, type Quantity, zero } from '../../core/values/quantity.ts'
import { entryOf } from '../../core/values/records.ts'

/** The order in which pods are placed: more cpu, more memory, older, lower UID, then by name (reference/karpenter-core.md 3.3). */
function inQueueOrder(pods: readonly Pod[]): Pod[] {
  const amount = (pod: Pod, name: string): Quantity => entryOf(pod.requests, name) ?? zero
  return pods
    .map((pod) => ({ pod, created: Date.parse(pod.metadata.creationTimestamp) }))
    .sort(
      (a, b) =>
        compareQuantity(amount(b.pod, 'cpu'), amount(a.pod, 'cpu')) ||
        compareQuantity(amount(b.pod, 'memory'), amount(a.pod, 'memory')) ||
        a.created - b.created ||
        compareText(a.pod.metadata.uid, b.pod.metadata.uid) ||
        compareText(podName(a.pod), podName(b.pod)),
    )
    .map(({ pod }) => pod)
}

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Pods that wait for their turn. Those that failed wait at the end for as long as others find a place: they may have made room. */
export class PodQueue {
  readonly #pods: Pod[]
  /** How many waited, itself included, when a pod was put back. */
  readonly #waiting = new Map<Pod, number>()

  constructor(pods: readonly Pod[]) {
    this.#pods = inQueueOrder(pods)
  }

  /** The next pod; undefined when none is left or a whole round placed nothing. */
  pop(): Pod | undefined {
    const [next] = this.#pods
    if (next === undefined || this.#waiting.get(next) === this.#pods.length) return undefined
    return this.#pods.shift()
  }

  putBack(pod: Pod): void {
    this.#pods.push(pod)
    this.#waiting.set(pod, this.#pods.length)
  }
}
