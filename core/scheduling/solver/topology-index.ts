import { labels } from '../../labels.ts'
import type { Pod, Taint } from '../../objects.ts'
import { untolerated } from '../../taints.ts'
import { selects } from '../label-selector.ts'
import { inverseRules, type RuleContext, statedRules, type TopologyRule } from '../topology-rules.ts'
import type { SolverMemory } from './memory.ts'
import type { Concern, LabelClass, Level } from './pod-shapes.ts'
import type { RequirementSet, RequirementSets } from './requirement-sets.ts'
import { labelKey, type RunningClass } from './running-pods.ts'
import { Domains, onlyDomain, possibleDomains, TopologyGroup } from './topology-group.ts'

/** A node as topology counts it: by its own labels, not by what a pass makes of it. */
export interface CountedNode {
  readonly name: string
  readonly set: RequirementSet
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  /** Its labels as a place for pods; absent: it is none. */
  readonly placeLabels?: Readonly<Record<string, string>>
  /** Whether the anti-affinity of its pods keeps others away. */
  readonly isTracked: boolean
  readonly pods: readonly Pod[]
  /** Those of its pods that state anti-affinity. */
  readonly repelling: readonly Pod[]
}

/** Domains that a pool's types could be in, for one key, and the taints that its nodes have. */
interface PoolDomains {
  readonly taints: readonly Taint[]
  domainsOf(key: string): ReadonlySet<string>
}

export interface TopologyInput extends RuleContext {
  readonly sets: RequirementSets
  readonly memory: SolverMemory
  readonly nodes: readonly CountedNode[]
  readonly pools: readonly PoolDomains[]
}

/** A place that a pod is about to go to. */
export interface TopologyPlace {
  readonly hostname: string
  readonly host: number
  readonly taints: readonly Taint[]
  readonly isClaim: boolean
}

/** All groups of a pass, and which of them concern a pod (reference/karpenter-core.md 3.8). */
export class TopologyIndex {
  readonly domains = new Domains()
  readonly #input: TopologyInput
  readonly #groups = new Map<string, TopologyGroup>()
  readonly #inverse = new Map<string, TopologyGroup>()
  readonly #groupList: TopologyGroup[] = []
  readonly #hostGroups: TopologyGroup[] = []
  readonly #inverseList: TopologyGroup[] = []
  readonly #labelClasses = new Map<string, LabelClass>()
  /** Running pods by what they share; looked up when a group first counts. */
  #running: ReadonlyMap<string, RunningClass> | undefined
  #byName: ReadonlyMap<string, CountedNode> | undefined

  constructor(input: TopologyInput) {
    this.#input = input
  }

  /** Makes the hosts that exist known to the groups that there are: those that are made later do not learn of them, as upstream. */
  knowHosts(hosts: readonly number[]): void {
    for (const group of this.#hostGroups) group.knowHosts(hosts)
  }

  host(hostname: string): number {
    return this.domains.id(labels.hostname, hostname)
  }

  labelClass(pod: Pod): LabelClass {
    const key = labelKey(pod)
    let known = this.#labelClasses.get(key)
    if (known === undefined) {
      known = {
        namespace: pod.metadata.namespace ?? 'default',
        labels: pod.metadata.labels,
        selectedBy: [],
        selectedByInverse: [],
        groupsSeen: 0,
        inverseSeen: 0,
      }
      this.#labelClasses.set(key, known)
    }
    return known
  }

  /** The groups of the rules that a pod states at this level. A group counts from when it is first stated. */
  groupsOf(level: Level): readonly TopologyGroup[] {
    const { pod } = level
    level.groups ??= [...new Set(statedRules(pod, this.#input).map((rule) => this.#group(rule, pod)))]
    return level.groups
  }

  /** The groups by which a pod keeps others away: its required anti-affinity. */
  inverseOf(pod: Pod): readonly TopologyGroup[] {
    return [...new Set(inverseRules(pod, this.#input).map((rule) => this.#inverseGroup(rule, pod)))]
  }

  /** Anti-affinity of pods that run already, by the labels of their nodes. */
  trackRunning(): void {
    for (const { repelling, labels: own, isTracked } of this.#input.nodes) {
      if (!isTracked) continue
      for (const pod of repelling) {
        for (const group of this.inverseOf(pod)) {
          const domain = own[group.key]
          if (domain !== undefined) group.record(this.domains.id(group.key, domain))
        }
      }
    }
  }

  /** All that a pod's topology has to say on a place: its own groups, and others' that keep it away. */
  concerning(level: Level): readonly Concern[] {
    const inverse = this.#selectedByInverse(level.labelClass)
    if (level.concerns === undefined || level.inverseSeen !== inverse.length) {
      const strict = (group: TopologyGroup) => level.strict.get(group.key)
      level.inverseSeen = inverse.length
      level.concerns = [
        ...this.groupsOf(level).map((group) => ({
          group,
          pod: strict(group),
          selectsItself: this.#selects(group, level.labelClass),
        })),
        ...inverse.map((group) => ({ group, pod: strict(group), selectsItself: true })),
      ]
    }
    return level.concerns
  }

  #selects(group: TopologyGroup, labelClass: LabelClass): boolean {
    return group.rule.namespaces.has(labelClass.namespace) && selects(group.rule.selector, labelClass.labels)
  }

  /** Makes the hostname of a claim known to those that ask for hostnames. */
  registerHost(host: number): void {
    for (const group of this.#hostGroups) group.register(host)
  }

  /** Counts a pod that was placed. */
  record(labelClass: LabelClass, inverse: readonly TopologyGroup[], set: RequirementSet, place: TopologyPlace): void {
    for (const group of this.#selectedBy(labelClass)) {
      if (!group.includes(set, place.taints, place.hostname)) continue
      if (group.isHostname) recordHost(group, place)
      else if (group.rule.kind === 'pod anti-affinity') this.#recordAll(group, set)
      else {
        const domain = onlyDomain(set, group.key)
        if (domain !== undefined) group.record(this.domains.id(group.key, domain))
      }
    }
    for (const group of inverse) {
      if (group.isHostname) recordHost(group, place)
      else this.#recordAll(group, set)
    }
  }

  #recordAll(group: TopologyGroup, set: RequirementSet): void {
    for (const domain of possibleDomains(set, group.key)) group.record(this.domains.id(group.key, domain))
  }

  #selectedBy(labelClass: LabelClass): readonly TopologyGroup[] {
    for (; labelClass.groupsSeen < this.#groupList.length; labelClass.groupsSeen++) {
      const group = this.#groupList[labelClass.groupsSeen] as TopologyGroup
      if (this.#selects(group, labelClass)) labelClass.selectedBy.push(group)
    }
    return labelClass.selectedBy
  }

  #selectedByInverse(labelClass: LabelClass): readonly TopologyGroup[] {
    for (; labelClass.inverseSeen < this.#inverseList.length; labelClass.inverseSeen++) {
      const group = this.#inverseList[labelClass.inverseSeen] as TopologyGroup
      if (this.#selects(group, labelClass)) labelClass.selectedByInverse.push(group)
    }
    return labelClass.selectedByInverse
  }

  /** Running pods by their labels, and the nodes that they are counted on. */
  #counted() {
    this.#byName ??= new Map(this.#input.nodes.filter(({ pods }) => pods.length > 0).map((node) => [node.name, node]))
    this.#running ??= this.#input.memory.running.on(this.#byName)
    return { running: this.#running, nodes: this.#byName }
  }

  #group(rule: TopologyRule, pod: Pod): TopologyGroup {
    const known = this.#groups.get(rule.id)
    if (known !== undefined) return known
    const group = this.#newGroup(rule, pod)
    this.#countRunning(group)
    this.#groups.set(rule.id, group)
    this.#groupList.push(group)
    if (group.isHostname) this.#hostGroups.push(group)
    return group
  }

  #inverseGroup(rule: TopologyRule, pod: Pod): TopologyGroup {
    const known = this.#inverse.get(rule.id)
    if (known !== undefined) return known
    const group = this.#newGroup(rule, pod)
    this.#inverse.set(rule.id, group)
    this.#inverseList.push(group)
    if (group.isHostname) this.#hostGroups.push(group)
    return group
  }

  /** Knows the domains that pools can make; unless taints are to be ignored, those that the pod tolerates. */
  #newGroup(rule: TopologyRule, pod: Pod): TopologyGroup {
    const group = new TopologyGroup(rule, this.domains, this.#input.sets)
    for (const pool of this.#input.pools) {
      if (rule.filter.taintsPolicy !== 'Ignore' && untolerated(pool.taints, pod.tolerations).length > 0) continue
      for (const domain of pool.domainsOf(rule.key)) group.register(this.domains.id(rule.key, domain))
    }
    return group
  }

  #countRunning(group: TopologyGroup): void {
    for (const node of this.#input.nodes) {
      const domain = node.placeLabels?.[group.key]
      if (domain !== undefined && group.includes(node.set, node.taints, node.labels[labels.hostname]))
        group.register(this.domains.id(group.key, domain))
    }
    const { namespaces, selector } = group.rule
    const { running, nodes } = this.#counted()
    for (const { namespace, labels: own, nodes: inhabited } of running.values()) {
      if (!namespaces.has(namespace)) continue
      // No selector selects nothing when a pod is placed, but everything when pods are counted.
      if (selector !== undefined && !selects(selector, own)) continue
      for (const [one, count] of inhabited) {
        const node = nodes.get(one) as CountedNode
        const domain = node.labels[group.key] ?? (group.isHostname ? node.name : undefined)
        if (domain !== undefined && group.includes(node.set, node.taints, node.labels[labels.hostname]))
          group.record(this.domains.id(group.key, domain), count)
      }
    }
  }
}

function recordHost(group: TopologyGroup, { host, isClaim }: TopologyPlace): void {
  if (isClaim && group.countOf(host) === 0) group.occupiedClaims += 1
  group.record(host)
}
