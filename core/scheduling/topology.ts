import { labels, wellKnownLabels } from '../labels.ts'
import type { Pod, Taint } from '../objects.ts'
import { allows, describe, inValues, operatorOf, type Requirement, requirement } from '../requirement.ts'
import { isCompatible, podRequirements, type Requirements } from '../requirements.ts'
import { untolerated } from '../taints.ts'
import { inverseRules, selectsPod, statedRules, type TopologyRule } from './topology-groups.ts'

/** Where a pod may go or has gone, as the rules see it. `requirements` are those of its labels, or those of a claim in the making. */
export interface TopologyTarget {
  readonly hostname: string
  readonly requirements: Requirements
  readonly taints: readonly Taint[]
  /** A claim in the making has all well-known labels, an existing node those that it has. */
  readonly existing: boolean
}

/** What the nodes of one NodePool look like: its template's requirements and the values that its types allow. */
export interface TopologyPool {
  readonly requirements: Requirements
  readonly taints: readonly Taint[]
  readonly domains: ReadonlyMap<string, ReadonlySet<string>>
}

interface Group {
  readonly rule: TopologyRule
  /** Pods that count, by domain; with zeros for the domains that could be used. */
  readonly counts: Map<string, number>
}

interface Placement {
  readonly pod: Pod
  readonly target: TopologyTarget
}

/** One way to satisfy a pod's rules: the sets that the target's requirements must be narrowed to. */
type TopologyChoice = readonly Requirement[]

export type TopologyAnswer =
  | { readonly kind: 'choices'; readonly choices: readonly TopologyChoice[] }
  | { readonly kind: 'unsatisfiable'; readonly explain: () => string }

const free: TopologyAnswer = { kind: 'choices', choices: [[]] }
/** More combinations than this are not tried for one pod and one target. */
const maxChoices = 64

/** Counts pods by domain and answers where the next one may go (reference/karpenter-core.md 3.8). */
export class Topology {
  readonly #pools: readonly TopologyPool[]
  readonly #nodes: readonly TopologyTarget[]
  readonly #placements: Placement[] = []
  readonly #namespaceLabels: ReadonlyMap<string, Readonly<Record<string, string>>> | undefined
  readonly #groups = new Map<string, Group>()
  readonly #binding = new WeakMap<Pod, readonly Group[]>()

  constructor(input: {
    readonly pools: readonly TopologyPool[]
    readonly nodes: readonly (TopologyTarget & { readonly pods: readonly Pod[] })[]
    readonly pending: readonly Pod[]
    readonly namespaceLabels?: ReadonlyMap<string, Readonly<Record<string, string>>> | undefined
  }) {
    this.#pools = input.pools
    this.#nodes = input.nodes
    this.#namespaceLabels = input.namespaceLabels
    for (const target of input.nodes) {
      for (const pod of target.pods)
        if (pod.metadata.deletionTimestamp === undefined) this.#placements.push({ pod, target })
    }
    for (const { pod } of this.#placements) for (const rule of inverseRules(pod)) this.#group(rule)
    for (const pod of input.pending) for (const rule of inverseRules(pod)) this.#group(rule)
  }

  /** How a pod can go to a target whose requirements, the pod's own included, are given. */
  choices(pod: Pod, target: TopologyTarget): TopologyAnswer {
    const binding = this.#bindingGroups(pod)
    if (binding.length === 0) return free
    for (const group of binding) {
      if (group.rule.key === labels.hostname && !this.#hostnameAllows(group, pod, target.hostname)) {
        return { kind: 'unsatisfiable', explain: () => this.#unsatisfiable(group, pod, target) }
      }
    }
    const strict = podRequirements(pod, { strict: true })
    let choices: TopologyChoice[] = [[]]
    for (const group of binding) {
      if (group.rule.key === labels.hostname) continue
      const narrowed = this.#narrowings(group, pod, strict, target)
      if (narrowed.length === 0)
        return { kind: 'unsatisfiable', explain: () => this.#unsatisfiable(group, pod, target) }
      choices = choices.flatMap((choice) => narrowed.map((set) => [...choice, set])).slice(0, maxChoices)
    }
    return { kind: 'choices', choices }
  }

  /** Counts a pod where it was placed. */
  record(pod: Pod, target: TopologyTarget): void {
    const placement = { pod, target }
    this.#placements.push(placement)
    for (const group of this.#groups.values()) this.#count(group, placement)
  }

  #bindingGroups(pod: Pod): readonly Group[] {
    const known = this.#binding.get(pod)
    if (known !== undefined) return known
    const own = statedRules(pod).map((rule) => this.#group(rule))
    const inverse = [...this.#groups.values()].filter(
      ({ rule }) => rule.kind === 'inverse' && selectsPod(rule, pod, this.#namespaceLabels),
    )
    const binding = [...own, ...inverse]
    this.#binding.set(pod, binding)
    return binding
  }

  #group(rule: TopologyRule): Group {
    const known = this.#groups.get(rule.id)
    if (known !== undefined) return known
    const group = { rule, counts: this.#universe(rule) }
    this.#groups.set(rule.id, group)
    for (const placement of this.#placements) this.#count(group, placement)
    return group
  }

  /** The domains that pods could use, each with no pod yet. Hostnames are not listed: a new node is always possible. */
  #universe({ key, filter }: TopologyRule): Map<string, number> {
    const counts = new Map<string, number>()
    if (key === labels.hostname) return counts
    for (const pool of this.#pools) {
      if (!passes(filter, pool.requirements, pool.taints, false)) continue
      for (const domain of pool.domains.get(key) ?? []) counts.set(domain, 0)
    }
    for (const node of this.#nodes) {
      const set = node.requirements.get(key)
      if (set === undefined || operatorOf(set) !== 'In' || !passes(filter, node.requirements, node.taints, true))
        continue
      for (const domain of set.values) counts.set(domain, 0)
    }
    return counts
  }

  #count({ rule, counts }: Group, { pod, target }: Placement): void {
    const counted = rule.kind === 'inverse' ? states(pod, rule) : selectsPod(rule, pod, this.#namespaceLabels)
    if (!counted || !passes(rule.filter, target.requirements, target.taints, target.existing)) return
    for (const domain of domainsOf(rule, target, counts)) counts.set(domain, (counts.get(domain) ?? 0) + 1)
  }

  #hostnameAllows({ rule, counts }: Group, pod: Pod, hostname: string): boolean {
    const count = counts.get(hostname) ?? 0
    if (rule.kind !== 'spread') return count === 0
    return count + this.#self(rule, pod) <= rule.maxSkew
  }

  #self(rule: TopologyRule, pod: Pod): number {
    return selectsPod(rule, pod, this.#namespaceLabels) ? 1 : 0
  }

  /** The values of the rule's key that the target may be narrowed to, best first. */
  #narrowings({ rule, counts }: Group, pod: Pod, strict: Requirements, target: TopologyTarget): readonly Requirement[] {
    const wanted = strict.get(rule.key)
    const offered = target.requirements.get(rule.key)
    if (offered === undefined && target.existing) return []
    const usable = (domain: string) => offered === undefined || allows(offered, domain)
    const ofPod = [...counts].filter(([domain]) => wanted === undefined || allows(wanted, domain))
    if (rule.kind !== 'spread') {
      const empty = ofPod.filter(([domain, count]) => count === 0 && usable(domain)).map(([domain]) => domain)
      return empty.length === 0 ? [] : [inValues(rule.key, empty)]
    }
    const tooFew = rule.minDomains > 0 && ofPod.length < rule.minDomains
    const least = tooFew ? 0 : ofPod.reduce((min, [, count]) => Math.min(min, count), Number.POSITIVE_INFINITY)
    const self = this.#self(rule, pod)
    return ofPod
      .filter(([domain, count]) => usable(domain) && count + self - least <= rule.maxSkew)
      .sort(([a, countA], [b, countB]) => countA - countB || (a < b ? -1 : 1))
      .map(([domain]) => inValues(rule.key, [domain]))
  }

  #unsatisfiable({ rule, counts }: Group, pod: Pod, target: TopologyTarget): string {
    const kind = rule.kind === 'spread' ? 'topology spread' : 'pod anti-affinity'
    const any = requirement({ key: rule.key, operator: 'Exists' })
    const shown = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([domain, count]) => `${domain}: ${count}`)
    const limited = shown.length > 25 ? [...shown.slice(0, 25), `and ${shown.length - 25} other domains`] : shown
    const wanted = podRequirements(pod, { strict: true }).get(rule.key) ?? any
    const offered =
      rule.key === labels.hostname ? inValues(rule.key, [target.hostname]) : (target.requirements.get(rule.key) ?? any)
    return (
      `unsatisfiable topology constraint for ${kind}, key=${rule.key} (counts = ${limited.join(', ')}, ` +
      `podDomains = ${describe(wanted)}, nodeDomains = ${describe(offered)}`
    )
  }
}

const statedIds = new WeakMap<Pod, ReadonlySet<string>>()

function states(pod: Pod, rule: TopologyRule): boolean {
  let ids = statedIds.get(pod)
  if (ids === undefined) {
    ids = new Set(inverseRules(pod).map(({ id }) => id))
    statedIds.set(pod, ids)
  }
  return ids.has(rule.id)
}

function passes(
  filter: TopologyRule['filter'],
  requirements: Requirements,
  taints: readonly Taint[],
  strict: boolean,
): boolean {
  if (filter.tolerating !== undefined && untolerated(hard(taints), filter.tolerating.tolerations).length > 0)
    return false
  if (filter.requirements === undefined) return true
  return isCompatible(requirements, filter.requirements, strict ? undefined : wellKnownLabels)
}

const hard = (taints: readonly Taint[]) => taints.filter(({ effect }) => effect !== 'PreferNoSchedule')

/** The domains in which a placed pod counts. A spread counts it once its domain is known, anti-affinity wherever it may end up. */
function domainsOf(rule: TopologyRule, target: TopologyTarget, counts: ReadonlyMap<string, number>): Iterable<string> {
  if (rule.key === labels.hostname) return [target.hostname]
  const set = target.requirements.get(rule.key)
  if (set === undefined) return rule.kind === 'spread' || target.existing ? [] : counts.keys()
  if (rule.kind === 'spread') return operatorOf(set) === 'In' && set.values.size === 1 ? set.values : []
  return operatorOf(set) === 'In' ? set.values : [...counts.keys()].filter((domain) => allows(set, domain))
}
