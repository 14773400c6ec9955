import type { Pod } from '../objects.ts'
import { isActive, podName } from '../pods/pod-rules.ts'
import { compareText } from './solver/waiting-pods.ts'
import type { VolumeProblem } from './unschedulable.ts'
import type { Storage } from './volumes.ts'

/**
 * Who uses PersistentVolumeClaims that are for one pod at a time (ReadWriteOncePod): kube-scheduler binds no second one. A user that is being deleted
 * gives its claim back in a while, and does not keep its successor from being planned.
 */
export class OncePodClaims {
  readonly #storage: Storage
  /** The pod that has each claim, or will have it. */
  readonly #users = new Map<string, Pod>()

  /** `all`: of the cluster; `waiting`: those that are to be bound, of which one gets a free claim. */
  constructor(storage: Storage, all: Iterable<Pod>, waiting: readonly Pod[]) {
    this.#storage = storage
    if (!waiting.some((pod) => storage.oncePodClaims(pod).length > 0)) return
    for (const pod of all) if (pod.nodeName !== undefined && isActive(pod)) this.#take(pod)
    for (const pod of [...waiting].sort(inOrder)) this.#take(pod)
  }

  /** Returns which claim of a pod another one uses; undefined when there is none. */
  taken(pod: Pod): VolumeProblem | undefined {
    for (const claim of this.#storage.oncePodClaims(pod)) {
      const user = this.#users.get(claim)
      if (user !== undefined && user.metadata.uid !== pod.metadata.uid)
        return { kind: 'claim-in-use', claim, pod: podName(user) }
    }
    return undefined
  }

  #take(pod: Pod): void {
    for (const claim of this.#storage.oncePodClaims(pod)) if (!this.#users.has(claim)) this.#users.set(claim, pod)
  }
}

/** The order in which kube-scheduler takes pods up: the most important first, then the oldest. */
function inOrder(a: Pod, b: Pod): number {
  return (
    (b.priority ?? 0) - (a.priority ?? 0) ||
    compareText(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
    compareText(podName(a), podName(b))
  )
}
