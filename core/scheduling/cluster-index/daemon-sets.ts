import type { DaemonSet, Pod } from '../../objects.ts'
import { asItRuns, byName } from '../cluster.ts'

/** DaemonSets as they run, in order. Which of their pods is the newest changes all the time; what it is like seldom does. */
export class RunningDaemonSets {
  #current: readonly DaemonSet[] = []
  #isStale = true

  /** Notes that a DaemonSet changed, or one of their pods. */
  changed(): void {
    this.#isStale = true
  }

  /** The same list as long as nothing of them matters otherwise for placement. `podsOf`: by the UID of a DaemonSet. */
  of(all: Iterable<DaemonSet>, podsOf: (uid: string) => readonly Pod[]): readonly DaemonSet[] {
    if (!this.#isStale) return this.#current
    this.#isStale = false
    const sorted = [...all].map((set) => asItRuns(set, podsOf(set.metadata.uid))).sort(byName)
    if (JSON.stringify(sorted.map(likeness)) !== JSON.stringify(this.#current.map(likeness))) this.#current = sorted
    return this.#current
  }
}

/** What of a DaemonSet matters for placement, as JSON can hold it. */
function likeness({ metadata, pod }: DaemonSet): unknown {
  return [
    metadata.uid,
    Object.entries(pod.requests).map(([name, { nano }]) => `${name}=${nano}`),
    pod.nodeSelector,
    pod.affinity,
    pod.tolerations,
    pod.hostPorts,
    pod.resourceClaims,
  ]
}
