import type { Pod } from '../../objects.ts'
import type { DaemonSet } from '../../pods/related-objects.ts'
import { asItRuns, byName } from '../cluster.ts'

/** DaemonSets as they run, in order. Their newest pods change all the time, but rarely in properties that matter. */
export class RunningDaemonSets {
  #current: readonly DaemonSet[] = []
  #isStale = true

  /** Records that a DaemonSet or one of its pods changed. */
  changed(): void {
    this.#isStale = true
  }

  /** Returns the same list while nothing changes that matters for placement. `podsOf`: by the UID of a DaemonSet. */
  of(all: Iterable<DaemonSet>, podsOf: (uid: string) => readonly Pod[]): readonly DaemonSet[] {
    if (!this.#isStale) return this.#current
    this.#isStale = false
    const sorted = [...all].map((set) => asItRuns(set, podsOf(set.metadata.uid))).sort(byName)
    if (JSON.stringify(sorted.map(likeness)) !== JSON.stringify(this.#current.map(likeness))) this.#current = sorted
    return this.#current
  }
}

/** Returns the parts of a DaemonSet that matter for placement, in JSON form. */
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
