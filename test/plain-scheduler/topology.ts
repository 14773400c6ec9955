import { compatibleOfferings } from '../../core/instance-type.ts'
import type { Pod, Taint } from '../../core/objects.ts'
import { isTerminating } from '../../core/pods/pod-rules.ts'
import { labels } from '../../core/requirements/labels.ts'
import { inValues, operatorOf, type Requirement, requirement } from '../../core/requirements/requirement.ts'
import {
  isCompatible,
  merge,
  type Requirements,
  requirements,
  requirementsOfLabels,
  sharedKeysIntersect,
} from '../../core/requirements/requirements.ts'
import type { ClaimTopology, TopologyAnswer } from '../../core/scheduling/open-claim.ts'
import type { NodeFacts, NodePoolOption } from '../../core/scheduling/snapshot.ts'
import { selects } from '../../core/scheduling/topology/label-selector.ts'
import {
  alternativesOfNewNodes,
  countsTainted,
  inverseRules,
  type RuleContext,
  ruleOf,
  statements,
  type TopologyRule,
} from '../../core/scheduling/topology/topology-rules.ts'
import { untolerated } from '../../core/taints.ts'
import { entryOf } from '../../core/values/records.ts'
import type { PoolTemplate } from './pool-template.ts'
import { namedDomains, singleDomain, TopologyGroup } from './topology-group.ts'

/** A Node with its pods. */
interface CountedNode {
  readonly facts: NodeFacts
  readonly pods: readonly Pod[]
  /** Its labels as a place for pods; absent: it is none. */
  readonly placeLabels?: Readonly<Record<string, string>>
  /** Whether its pods keep others away. */
  readonly isTracked: boolean
}

export interface TopologyInput extends RuleContext {
  readonly pools: readonly NodePoolOption[]
  /** The same pools, as they make nodes. */
  readonly templates: readonly PoolTemplate[]
  readonly wellKnown: ReadonlySet<string>
  readonly nodes: readonly CountedNode[]
  /** Hostnames of places that exist. */
  readonly hostnames: readonly string[]
  /** Pods to place, in the order in which they state their rules. */
  readonly pods: readonly Pod[]
}

/** Sets of taints under which a domain can be had: one of them must be tolerated. */
type Domains = Map<string, (readonly Taint[])[]>

/** Counts pods by domain and answers where the next one may go (reference/karpenter-core.md 3.8). */
export class Topology implements ClaimTopology {
  readonly #input: TopologyInput
  readonly #domains: ReadonlyMap<string, Domains>
  readonly #groups = new Map<string, TopologyGroup>()
  /** Anti-affinity the other way: these count the pods that keep away those that the rule selects. */
  readonly #inverse = new Map<string, TopologyGroup>()
  /** Pods before they gave something up. */
  readonly #wholes = new Map<Pod, Pod>()

  constructor(input: TopologyInput) {
    this.#input = input
    this.#domains = domainsOfPools(input.pools)
    for (const { facts, pods, isTracked } of input.nodes) {
      if (isTracked) for (const pod of pods) this.#keepAway(pod, facts.labels)
    }
    for (const pod of input.pods) this.update(pod, pod)
    for (const hostname of input.hostnames) this.register(hostname)
  }

  /** Enters the rules that a pod states as it is now, in place of those that it stated before. `whole`: with all its wishes. */
  update(pod: Pod, whole: Pod): void {
    this.#wholes.set(pod, whole)
    for (const group of this.#groups.values()) group.owners.delete(pod.metadata.uid)
    this.#keepAway(pod, {})
    for (const rule of this.#stated(pod)) this.#group(rule, pod).owners.add(pod.metadata.uid)
  }

  #stated(pod: Pod): readonly TopologyRule[] {
    // Spreads count the nodes of the pod with all its alternatives.
    const whole = this.#wholes.get(pod) ?? pod
    return statements(pod, this.#input).map((one) =>
      ruleOf(one, one.kind === 'topology spread' ? whole : pod, this.#input),
    )
  }

  /** Makes a new node's hostname known. */
  register(hostname: string): void {
    for (const group of [...this.#groups.values(), ...this.#inverse.values()]) {
      if (group.rule.key === labels.hostname) group.register(hostname)
    }
  }

  /** The node's requirements, the pod's own included, narrowed to what all rules about the pod allow. */
  narrow(
    pod: Pod,
    taints: readonly Taint[],
    { pod: podOwn, node }: Parameters<ClaimTopology['narrow']>[2],
  ): TopologyAnswer {
    const added: Requirement[] = []
    for (const group of this.#about(pod, taints, node)) {
      const { key } = group.rule
      const any = requirement({ key, operator: 'Exists' })
      const podDomains = podOwn.get(key) ?? any
      const nodeDomains = node.get(key) ?? any
      const domains = group.next(pod, podDomains, nodeDomains)
      if (domains.length === 0) {
        return { kind: 'unsatisfiable', cause: () => group.refusal(podDomains, nodeDomains) }
      }
      added.push(inValues(key, domains))
    }
    return { kind: 'narrowed', requirements: merge(node, added) }
  }

  /** Counts a pod where it was placed. */
  record(pod: Pod, taints: readonly Taint[], node: Requirements): void {
    for (const group of this.#groups.values()) {
      if (!group.selects(pod) || !group.includes(node, taints)) continue
      const set = node.get(group.rule.key)
      const single = singleDomain(set)
      // Anti-affinity blocks every domain that the pod may still end up in; the others count once that is certain.
      const domains = group.rule.kind === 'pod anti-affinity' ? namedDomains(set) : single === undefined ? [] : [single]
      for (const domain of domains) group.record(domain)
    }
    for (const group of this.#inverse.values()) {
      if (!group.owners.has(pod.metadata.uid)) continue
      for (const domain of namedDomains(node.get(group.rule.key))) group.record(domain)
    }
  }

  /** Its own rules as it states them, then those by which others keep it away: the first that cannot be met is told of. */
  #about(pod: Pod, taints: readonly Taint[], node: Requirements): readonly TopologyGroup[] {
    const stated = new Set(this.#stated(pod).flatMap(({ id }) => this.#groups.get(id) ?? []))
    return [
      ...[...stated].filter((group) => group.owners.has(pod.metadata.uid)),
      ...[...this.#inverse.values()].filter(
        (group) => !group.isAboutNothing && group.selects(pod) && group.includes(node, taints),
      ),
    ]
  }

  #keepAway(pod: Pod, nodeLabels: Readonly<Record<string, string>>): void {
    for (const rule of inverseRules(pod, this.#input)) {
      const group = this.#inverse.get(rule.id) ?? new TopologyGroup(rule, this.#domainsFor(rule, pod))
      this.#inverse.set(rule.id, group)
      const domain = entryOf(nodeLabels, rule.key)
      if (domain !== undefined) group.record(domain)
      group.owners.add(pod.metadata.uid)
    }
  }

  #group(rule: TopologyRule, pod: Pod): TopologyGroup {
    const known = this.#groups.get(rule.id)
    if (known !== undefined) return known
    const group = new TopologyGroup(rule, this.#domainsFor(rule, pod))
    this.#groups.set(rule.id, group)
    this.#count(group)
    return group
  }

  /** The domains that pools can make: for a spread those of nodes that it counts, else those that the pod tolerates. */
  #domainsFor(rule: TopologyRule, pod: Pod): readonly string[] {
    const named = [...(this.#domains.get(rule.key) ?? [])]
    if (rule.kind !== 'topology spread')
      return named
        .filter(([, taintSets]) => taintSets.some((taints) => untolerated(taints, pod.tolerations).length === 0))
        .map(([domain]) => domain)
    if (rule.key === labels.hostname) return []
    const own = alternativesOfNewNodes(rule).flatMap((one) => namedBy(one.get(rule.key)))
    return [...new Set([...named.map(([domain]) => domain), ...own])].filter((domain) => this.#isPossible(rule, domain))
  }

  /** Whether some pool can make a node in the domain that a spread counts. */
  #isPossible(rule: TopologyRule, domain: string): boolean {
    const { wellKnown, templates } = this.#input
    const there = requirements([
      { key: rule.key, operator: 'In', values: [domain] },
      ...rule.filter.keys.map((key) => ({ key, operator: 'Exists' as const })),
    ])
    return templates.some(
      ({ requirements: own, taints, types }) =>
        countsTainted(rule, taints) &&
        alternativesOfNewNodes(rule).some((alternative) => {
          if (alternative.get(labels.hostname)?.complement === false) return false
          if (!isCompatible(own, alternative, wellKnown)) return false
          const wanted = merge(own, alternative.values())
          if (!isCompatible(wanted, there, wellKnown)) return false
          const made = merge(wanted, [there.get(rule.key) as Requirement])
          return types.some(
            (type) =>
              sharedKeysIntersect(type.requirements, made) &&
              compatibleOfferings(type, made, wellKnown).some(({ available }) => available),
          )
        }),
    )
  }

  /** Counts the pods that run already. Pods that were placed a moment ago are not looked at: the rule came after them, as upstream. */
  #count(group: TopologyGroup): void {
    const { key, selector, namespaces } = group.rule
    for (const { facts, pods, placeLabels } of this.#input.nodes) {
      if (!group.includes(requirementsOfLabels(facts.labels), facts.taints)) continue
      const place = entryOf(placeLabels, key)
      if (place !== undefined) group.register(place)
      const domain = entryOf(facts.labels, key) ?? (key === labels.hostname ? facts.name : undefined)
      if (domain === undefined) continue
      for (const pod of pods) {
        // No selector selects nothing when a pod is placed, but everything when pods are counted.
        const isSelected = selector === undefined || selects(selector, pod.metadata.labels)
        if (isSelected && namespaces.has(pod.metadata.namespace ?? 'default') && !isTerminating(pod)) {
          group.record(domain)
        }
      }
    }
  }
}

const namedBy = (own: Requirement | undefined) => (own === undefined || own.complement ? [] : [...own.values])

function domainsOfPools(pools: TopologyInput['pools']): ReadonlyMap<string, Domains> {
  const found = new Map<string, Domains>()
  const add = (set: Requirement, taints: readonly Taint[]) => {
    const domains = found.get(set.key) ?? new Map<string, (readonly Taint[])[]>()
    found.set(set.key, domains)
    for (const domain of namedDomains(set)) domains.set(domain, [...(domains.get(domain) ?? []), taints])
  }
  for (const { nodePool, instanceTypes } of pools) {
    const { spec } = nodePool.template
    if (instanceTypes.length === 0) continue
    const own = merge(requirements(spec.requirements), requirementsOfLabels(nodePool.template.labels).values())
    for (const type of instanceTypes) {
      for (const set of merge(own, type.requirements.values()).values()) add(set, spec.taints)
    }
    for (const set of own.values()) if (operatorOf(set) === 'In') add(set, spec.taints)
  }
  return found
}
