import { labels } from '../../requirements/labels.ts'
import type { ByLabels } from './by-selector.ts'
import type { Gone } from './gone.ts'
import type { CountedNode, LabelFacts } from './label-facts.ts'
import type { RunningClass } from './running-pods.ts'
import { TopologyGroup } from './topology-group.ts'

/** Pods that run, by classes. */
export interface RunningIndex {
  readonly running: ReadonlyMap<string, RunningClass>
  readonly inhabited: ReadonlyMap<string, CountedNode>
  readonly byLabels: ByLabels<LabelFacts>
}

/** The places that there are, by their domains. */
export interface PlaceIndex {
  /** Places by their domain for a key. */
  placesBy(key: string): ReadonlyMap<number, readonly CountedNode[]>
  /** Returns the domain of a node's pods, whatever counts them. */
  domainOf(node: CountedNode, key: string): number | undefined
}

/** A group's counts of the cluster, which passes copy and continue. */
export class CountedGroup {
  /** Passes must not change it. */
  readonly group: TopologyGroup
  /** Domains of the pools. */
  readonly pools: ReadonlySet<number>
  readonly #places: PlaceIndex
  /** Classes of running pods that it counts. */
  readonly #classes = new Set<string>()

  constructor(group: TopologyGroup, pools: ReadonlySet<number>, places: PlaceIndex) {
    this.group = group
    this.pools = pools
    this.#places = places
  }

  countRunning({ running, inhabited, byLabels }: RunningIndex): void {
    const { rule } = this.group
    const candidates = byLabels.for(rule.selector)
    for (const own of candidates) {
      // A missing selector selects nothing when a pod is placed, but everything when pods are counted.
      if (rule.selector === undefined ? !rule.namespaces.has(own.namespace) : !this.group.facts.selects(own)) continue
      const { text } = own
      this.#classes.add(text)
      for (const [name, count] of running.get(text)?.nodes ?? []) {
        const domain = this.#domainOf(inhabited.get(name) as CountedNode)
        if (domain !== undefined) this.group.record(domain, count)
      }
    }
  }

  /** Registers the domains of places. Hosts are many, and only a text needs those without pods: see `without`. */
  registerPlaces(): void {
    if (this.group.isHostname) return
    for (const domain of this.#places.placesBy(this.group.key).keys())
      if (this.#hasPlace(domain)) this.group.register(domain)
  }

  /** Returns the group for a pass: the cluster's counts without removed nodes and pods. */
  without(gone: Gone | undefined): TopologyGroup {
    const group = new TopologyGroup(this.group.facts, this.group)
    if (group.isHostname)
      group.knowHosts(() => [...this.#places.placesBy(group.key).keys()].filter((host) => this.#hasPlace(host, gone)))
    if (gone !== undefined) this.#takeOff(group, gone)
    return group
  }

  #takeOff(group: TopologyGroup, gone: Gone): void {
    const doubtful = new Set(gone.domainsBy(group.key))
    for (const [node, count] of this.#lost(gone)) {
      const domain = this.#domainOf(node)
      if (domain === undefined) continue
      group.discount(domain, count)
      doubtful.add(domain)
    }
    for (const domain of doubtful) {
      if (this.pools.has(domain) || group.countOf(domain) > 0) continue
      if (group.isHostname || !this.#hasPlace(domain, gone)) group.forget(domain)
    }
  }

  #hasPlace(domain: number, gone?: Gone): boolean {
    const places = this.#places.placesBy(this.group.key).get(domain) ?? []
    return places.some((node) => gone?.nodes.has(node) !== true && this.#includes(node))
  }

  *#lost({ pods }: Gone): Iterable<readonly [CountedNode, number]> {
    if (pods.size < this.#classes.size) {
      for (const [text, nodes] of pods) if (this.#classes.has(text)) yield* nodes
    } else for (const text of this.#classes) yield* pods.get(text) ?? []
  }

  #domainOf(node: CountedNode): number | undefined {
    const domain = this.#places.domainOf(node, this.group.key)
    return domain !== undefined && this.#includes(node) ? domain : undefined
  }

  #includes({ set, taints, labels: own }: CountedNode): boolean {
    return this.group.facts.includes(set, taints, own[labels.hostname])
  }
}
