import type { Pod, Taint } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import { allows, intersect, operatorOf, type Requirement } from '../../core/requirements/requirement.ts'
import { isCompatible, type Requirements } from '../../core/requirements/requirements.ts'
import { selects } from '../../core/scheduling/topology/label-selector.ts'
import { countsTainted, type TopologyRule, topologyRefusal } from '../../core/scheduling/topology/topology-rules.ts'
import type { TopologyRefusal } from '../../core/scheduling/unschedulable.ts'

/** Counts the pods of a rule by domain and answers which domains the next one may use (reference/karpenter-core.md 3.8). */
export class TopologyGroup {
  readonly rule: TopologyRule
  /** UIDs of the pods that state the rule. */
  readonly owners = new Set<string>()
  readonly #counts = new Map<string, number>()

  constructor(rule: TopologyRule, domains: Iterable<string>) {
    this.rule = rule
    for (const domain of domains) this.register(domain)
  }

  register(domain: string): void {
    if (!this.#counts.has(domain)) this.#counts.set(domain, 0)
  }

  record(domain: string): void {
    this.#counts.set(domain, (this.#counts.get(domain) ?? 0) + 1)
  }

  /** Whether no node has the key, nor could have. */
  get isAboutNothing(): boolean {
    return this.rule.key !== labels.hostname && this.#counts.size === 0
  }

  selects({ metadata }: Pod): boolean {
    return this.rule.namespaces.has(metadata.namespace ?? 'default') && selects(this.rule.selector, metadata.labels)
  }

  /** Whether nodes of these labels and taints take part. */
  includes(requirements: Requirements, taints: readonly Taint[]): boolean {
    const { alternatives, affinityPolicy, keys } = this.rule.filter
    if (!countsTainted(this.rule, taints) || !keys.every((key) => requirements.has(key))) return false
    if (affinityPolicy !== 'Honor' || alternatives.length === 0) return true
    return alternatives.some((wanted) => isCompatible(requirements, wanted))
  }

  /** The domains for a pod, of those that it and its node may have; none: the rule cannot be met there. */
  next(pod: Pod, podDomains: Requirement, nodeDomains: Requirement): readonly string[] {
    switch (this.rule.kind) {
      case 'topology spread':
        return this.#nextForSpread(pod, nodeDomains)
      case 'pod affinity':
        return this.#nextForAffinity(pod, podDomains, nodeDomains)
      case 'pod anti-affinity':
        return this.#nextForAntiAffinity(podDomains, nodeDomains)
    }
  }

  /** The one domain with the fewest pods; the first by name where several have. */
  #nextForSpread(pod: Pod, nodeDomains: Requirement): readonly string[] {
    const self = this.selects(pod) ? 1 : 0
    const hostname = this.#onlyHostname(nodeDomains)
    if (hostname !== undefined) {
      // A new node is always possible, so the least is zero.
      return this.#count(hostname) + self <= this.rule.maxSkew ? [hostname] : []
    }
    const least = this.#leastCount()
    const usable = this.#domains()
      .filter((domain) => allows(nodeDomains, domain) && this.#count(domain) + self - least <= this.rule.maxSkew)
      .sort((a, b) => this.#count(a) - this.#count(b) || (a < b ? -1 : 1))
    return usable.slice(0, 1)
  }

  #leastCount(): number {
    const { key, minDomains = 0 } = this.rule
    if (key === labels.hostname || this.#counts.size < minDomains) return 0
    return Math.min(...this.#counts.values(), maxCount)
  }

  #nextForAffinity(pod: Pod, podDomains: Requirement, nodeDomains: Requirement): readonly string[] {
    const hostname = this.#onlyHostname(nodeDomains)
    if (hostname !== undefined) {
      const isUsable = this.#count(hostname) > 0 || this.#mayBegin(pod, podDomains)
      return allows(podDomains, hostname) && isUsable ? [hostname] : []
    }
    const mayUse = this.#domains().filter((domain) => allows(podDomains, domain))
    const occupied = mayUse.filter((domain) => allows(nodeDomains, domain) && this.#count(domain) > 0)
    if (occupied.length > 0 || !this.#mayBegin(pod, podDomains)) return occupied
    // The first pod picks where all will go: where its node may be, and any place that it may have.
    const both = intersect(podDomains, nodeDomains)
    const first = this.#domains().find((domain) => allows(both, domain))
    return [...new Set([first, mayUse[0]].filter((domain) => domain !== undefined))]
  }

  /** Whether a pod may be the first of its kind: it wants its own like, and there are none yet where it may go. */
  #mayBegin(pod: Pod, podDomains: Requirement): boolean {
    if (!this.selects(pod)) return false
    const occupied = this.#domains().filter((domain) => this.#count(domain) > 0)
    return !occupied.some((domain) => allows(podDomains, domain))
  }

  #nextForAntiAffinity(podDomains: Requirement, nodeDomains: Requirement): readonly string[] {
    const hostname = this.#onlyHostname(nodeDomains)
    if (hostname !== undefined) return this.#count(hostname) === 0 ? [hostname] : []
    return this.#domains().filter(
      (domain) => this.#count(domain) === 0 && allows(nodeDomains, domain) && allows(podDomains, domain),
    )
  }

  /** The hostname that a node has for certain: it need not be known yet. */
  #onlyHostname({ values }: Requirement): string | undefined {
    return this.rule.key === labels.hostname && values.size === 1 ? [...values][0] : undefined
  }

  #count(domain: string): number {
    return this.#counts.get(domain) ?? 0
  }

  #domains(): readonly string[] {
    return [...this.#counts.keys()].sort()
  }

  refusal(podDomains: Requirement, nodeDomains: Requirement): TopologyRefusal {
    return topologyRefusal(this.rule, this.#counts, { podDomains, nodeDomains })
  }
}

const maxCount = 2 ** 31 - 1

/** The domains that a requirement names; a complement names those that it leaves out, as upstream. */
export function namedDomains(set: Requirement | undefined): readonly string[] {
  return set === undefined ? [] : [...set.values]
}

/** Whether only one domain is left. */
export function singleDomain(set: Requirement | undefined): string | undefined {
  if (set === undefined || operatorOf(set) !== 'In' || set.values.size !== 1) return undefined
  return [...set.values][0]
}
