import type { Taint } from '../../objects.ts'
import { labels } from '../../requirements/labels.ts'
import { operatorOf } from '../../requirements/requirement.ts'
import type { RequirementSet } from '../offerings/requirement-sets.ts'
import { ByLabels, BySelector } from './by-selector.ts'
import type { Concern, ConcernedPod, LabelClass, RepellingPod } from './concern.ts'
import type { Gone } from './gone.ts'
import type { LabelFacts } from './label-facts.ts'
import { InverseGroups } from './running-inverse.ts'
import type { StatedRule } from './stated-rule.ts'
import type { TopologyBase } from './topology-base.ts'
import { TopologyGroup } from './topology-group.ts'

/** A place that a pod is about to go to. */
export interface TopologyPlace {
  readonly hostname: string
  /** The hostname among the topology's domains. */
  readonly host: number
  readonly taints: readonly Taint[]
  readonly isClaim: boolean
  /** Its requirements with the pod's. */
  readonly set: RequirementSet
}

/** All groups of a pass. Finds those that apply to a pod (reference/karpenter-core.md 3.8). */
export class TopologyIndex {
  readonly #base: TopologyBase
  readonly #gone: Gone | undefined
  readonly #groups = new Map<string, TopologyGroup>()
  readonly #groupsBySelector = new BySelector<TopologyGroup>()
  /** Groups that exist before the hosts are known. */
  readonly #hostGroups: TopologyGroup[] = []
  /** Anti-affinity of running pods. */
  readonly #running: InverseGroups
  /** Anti-affinity of pods to place that no running pod states. */
  readonly #stated = new Map<string, TopologyGroup>()
  readonly #statedBySelector = new BySelector<TopologyGroup>()
  readonly #labelClasses = new Map<LabelFacts, LabelClass>()
  readonly #classesByLabels = new ByLabels<LabelClass>()
  #hosts: (() => readonly number[]) | undefined
  readonly #claimHosts: number[] = []

  constructor(base: TopologyBase, gone?: Gone) {
    this.#base = base
    this.#gone = gone
    this.#running = new InverseGroups(base.inverse, gone, (group) => this.#enterRunning(group))
  }

  /** Adds a group that exists from the beginning, whenever it is first requested. */
  #enterRunning(group: TopologyGroup): void {
    if (!group.isHostname) return
    group.knowHosts(() => this.#claimHosts)
    if (this.#hosts === undefined) this.#hostGroups.push(group)
    else group.knowHosts(this.#hosts)
  }

  /** Adds a group that registers claims opened from now on. */
  #enterHostGroup(group: TopologyGroup): void {
    const before = this.#claimHosts.length
    group.knowHosts(() => this.#claimHosts.slice(before))
    this.#hostGroups.push(group)
  }

  /** Registers the existing hosts with the existing groups. As upstream, later groups do not get them. */
  knowHosts(hosts: () => readonly number[]): void {
    this.#hosts = hosts
    for (const group of this.#hostGroups) group.knowHosts(hosts)
  }

  host(hostname: string): number {
    return this.#base.domains.id(labels.hostname, hostname)
  }

  labelClass(facts: LabelFacts): LabelClass {
    let known = this.#labelClasses.get(facts)
    if (known === undefined) {
      const about = (group: TopologyGroup) => group.facts.selects(facts)
      const stated = this.#statedBySelector.for(facts.pairs).filter(about)
      known = {
        facts,
        selectedBy: this.#groupsBySelector.for(facts.pairs).filter(about),
        selectedByInverse: [...this.#running.selecting(facts), ...this.#inOrder(stated)],
      }
      this.#labelClasses.set(facts, known)
      this.#classesByLabels.add(facts.pairs, known)
    }
    return known
  }

  /** Returns the groups of the rules that a pod states at this level. A group counts from its first statement on. */
  groupsOf(level: ConcernedPod): readonly TopologyGroup[] {
    level.groups ??= [...new Set(this.#base.rulesOf(level.facts).map((one) => this.#group(one)))]
    return level.groups
  }

  /** Returns the groups by which pods of a shape keep others away: their required anti-affinity. */
  inverseOf(shape: RepellingPod): readonly TopologyGroup[] {
    return [...new Set(this.#base.inverseRulesOf(shape).map((one) => this.#inverseGroup(one)))]
  }

  /** Returns the groups that apply to a pod on a place: its own, and others' that keep it away. */
  concerning(level: ConcernedPod): readonly Concern[] {
    const inverse = level.labelClass.selectedByInverse
    if (level.concerns === undefined || level.inverseSeen !== inverse.length) {
      const strict = (group: TopologyGroup) => level.strict.get(group.key)
      level.inverseSeen = inverse.length
      level.concerns = [
        ...this.groupsOf(level).map((group) => ({
          group,
          pod: strict(group),
          selectsItself: group.facts.selects(level.labelClass.facts),
          isInverse: false,
        })),
        ...inverse.map((group) => ({ group, pod: strict(group), selectsItself: true, isInverse: true })),
      ]
    }
    return level.concerns
  }

  registerHost(host: number): void {
    this.#claimHosts.push(host)
  }

  /** Counts a pod that was placed. */
  record(labelClass: LabelClass, inverse: readonly TopologyGroup[], place: TopologyPlace): void {
    const { set } = place
    for (const group of labelClass.selectedBy) {
      if (!group.facts.includes(set, place.taints, place.hostname)) continue
      if (group.isHostname) recordHost(group, place)
      else if (group.rule.kind === 'pod anti-affinity') this.#recordAll(group, set)
      else {
        const domain = onlyDomain(set, group.key)
        if (domain !== undefined) group.record(this.#base.domains.id(group.key, domain))
      }
    }
    for (const group of inverse) {
      if (group.isHostname) recordHost(group, place)
      else this.#recordAll(group, set)
    }
  }

  #recordAll(group: TopologyGroup, set: RequirementSet): void {
    for (const domain of possibleDomains(set, group.key)) group.record(this.#base.domains.id(group.key, domain))
  }

  /** Sorts groups that no running pod states by their first statement. */
  #inOrder(groups: readonly TopologyGroup[]): readonly TopologyGroup[] {
    if (groups.length < 2) return groups
    const wanted = new Set(groups)
    return [...this.#stated.values()].filter((group) => wanted.has(group))
  }

  #group(stated: StatedRule): TopologyGroup {
    const { id } = stated.rule
    const known = this.#groups.get(id)
    if (known !== undefined) return known
    const group = this.#base.counted(stated).without(this.#gone)
    this.#groups.set(id, group)
    this.#groupsBySelector.add(stated.rule.selector, group)
    for (const one of this.#classesByLabels.for(stated.rule.selector))
      if (group.facts.selects(one.facts)) one.selectedBy.push(group)
    if (group.isHostname) this.#enterHostGroup(group)
    return group
  }

  #inverseGroup(stated: StatedRule): TopologyGroup {
    const { id } = stated.rule
    const known = this.#running.byId(id) ?? this.#stated.get(id)
    if (known !== undefined) return known
    const { group: empty } = this.#base.uncounted(stated)
    const group = new TopologyGroup(empty.facts, empty)
    this.#stated.set(id, group)
    this.#statedBySelector.add(stated.rule.selector, group)
    for (const one of this.#classesByLabels.for(stated.rule.selector))
      if (group.facts.selects(one.facts)) one.selectedByInverse.push(group)
    if (group.isHostname) this.#enterHostGroup(group)
    return group
  }
}

function recordHost(group: TopologyGroup, { host, isClaim }: TopologyPlace): void {
  if (isClaim && group.countOf(host) === 0) group.occupiedClaims += 1
  group.record(host)
}

/** Returns the known values that a pod on a place with this requirement may end up in. */
function possibleDomains(set: RequirementSet, key: string): readonly string[] {
  return [...(set.map.get(key)?.values ?? [])]
}

/** Returns a place's only value for a key; undefined while there are several. */
function onlyDomain(set: RequirementSet, key: string): string | undefined {
  const requirement = set.map.get(key)
  if (requirement === undefined || operatorOf(requirement) !== 'In' || requirement.values.size !== 1) return undefined
  return requirement.values.values().next().value
}
