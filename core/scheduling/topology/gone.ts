import type { Pod } from '../../objects.ts'
import { isTerminating } from '../../pods/pod-rules.ts'
import { entryOf } from '../../values/records.ts'
import type { Domains } from './domains.ts'
import type { CountedNode } from './label-facts.ts'
import type { RunningPods } from './running-pods.ts'

/** A node whose pods are removed in simulation. */
interface Loss {
  readonly node: CountedNode
  readonly pods: readonly Pod[]
}

/** Nodes and pods that topology does not count because a simulation removes them. */
export class Gone {
  /** They are no longer places. */
  readonly nodes: ReadonlySet<CountedNode>
  /** Removed pods, by the text of their labels: how many of them each node loses. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<CountedNode, number>>
  /** Pods that no longer keep others away. */
  readonly repelling: readonly Pod[]
  readonly #domains: Domains
  readonly #byKey = new Map<string, ReadonlySet<number>>()

  constructor(losses: readonly Loss[], domains: Domains, running: RunningPods) {
    this.#domains = domains
    this.nodes = new Set(losses.map(({ node }) => node))
    this.repelling = losses.flatMap(({ pods }) =>
      pods.filter(({ affinity }) => affinity?.podAntiAffinity !== undefined),
    )
    this.pods = lostByLabels(losses, running)
  }

  /** Returns domains that the nodes had as places. */
  domainsBy(key: string): ReadonlySet<number> {
    let known = this.#byKey.get(key)
    if (known === undefined) {
      const names = [...this.nodes].flatMap(({ placeLabels }) => entryOf(placeLabels, key) ?? [])
      known = new Set(names.map((name) => this.#domains.id(key, name)))
      this.#byKey.set(key, known)
    }
    return known
  }
}

function lostByLabels(losses: readonly Loss[], running: RunningPods): Gone['pods'] {
  const lost = new Map<string, Map<CountedNode, number>>()
  for (const { node, pods } of losses) {
    for (const pod of pods) {
      if (isTerminating(pod)) continue
      const text = running.keyOf(pod)
      const own = lost.get(text) ?? new Map<CountedNode, number>()
      lost.set(text, own)
      own.set(node, (own.get(node) ?? 0) + 1)
    }
  }
  return lost
}
