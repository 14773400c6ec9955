import { allows, inValues, type Requirement } from '../../requirements/requirement.ts'
import type { RequirementSets } from '../offerings/requirement-sets.ts'
import type { TopologyRefusal } from '../unschedulable.ts'
import type { Domains } from './domains.ts'
import type { GroupFacts } from './group-facts.ts'
import { type TopologyRule, topologyRefusal } from './topology-rules.ts'

const unknown = -1

/** Domains that a group allows for a pod: a requirement on its key; undefined when it allows none. */
export type Choice = Requirement | undefined

/**
 * Counts pods by domain for one spread constraint or affinity term, shared by all pods that have it. `Domains` numbers the domains. Choices are
 * cached until a count changes.
 */
export class TopologyGroup {
  readonly facts: GroupFacts
  readonly rule: TopologyRule
  readonly key: string
  readonly isHostname: boolean
  occupied = 0
  /** Number of known domains, except those of `knowHosts`. */
  #known = 0
  /** Number of open claims whose hostname has pods. */
  occupiedClaims = 0
  readonly #counts: DomainCounts
  readonly #domains: Domains
  readonly #sets: RequirementSets
  /** Known hosts without pods, beside those with a count. Only the text that reports them needs them. */
  readonly #knownHosts: (() => Iterable<number>)[] = []
  readonly #choices = new Map<number, Choice>()
  /** The fewest pods that a domain counts for a spread; unset until needed. */
  #least: number | undefined

  /** Continues from the counts of `counted`. */
  constructor(facts: GroupFacts, counted?: TopologyGroup) {
    this.facts = facts
    this.rule = facts.rule
    this.key = facts.key
    this.isHostname = facts.isHostname
    this.#domains = facts.domains
    this.#sets = facts.sets
    this.#counts = counted === undefined ? new DomainCounts() : new DomainCounts(counted.#counts)
    if (counted === undefined) return
    this.occupied = counted.occupied
    this.#known = counted.#known
  }

  /** Makes a domain known. */
  register(domain: number): void {
    if (this.#counts.get(domain) < 0) this.#set(domain, 0)
  }

  /** Registers hosts, which are listed at each use. */
  knowHosts(hosts: () => Iterable<number>): void {
    this.#knownHosts.push(hosts)
  }

  /** Subtracts pods from a domain that counts them. */
  discount(domain: number, pods: number): void {
    const count = this.countOf(domain) - pods
    if (count === 0) this.occupied -= 1
    this.#set(domain, count)
  }

  /** Removes a domain that nothing registers any more. */
  forget(domain: number): void {
    if (this.#counts.get(domain) === 0) this.#set(domain, unknown)
  }

  record(domain: number, pods = 1): void {
    const count = this.countOf(domain)
    if (count === 0) this.occupied += 1
    this.#set(domain, count + pods)
  }

  countOf(domain: number): number {
    return Math.max(0, this.#counts.get(domain))
  }

  /** Whether no open claim can take a pod of the group: each has one already, and may have no more. */
  refusesAll(claims: number, selectsItself: boolean): boolean {
    if (!this.isHostname || this.occupiedClaims < claims) return false
    const { kind, maxSkew } = this.rule
    return kind === 'pod anti-affinity' || (kind === 'topology spread' && selectsItself && maxSkew === 1)
  }

  /** Whether no node has the key or could have it: then it keeps no pod away. */
  get isAboutNothing(): boolean {
    return !this.isHostname && this.#known === 0
  }

  #set(domain: number, count: number): void {
    this.#known += Number(count >= 0) - Number(this.#counts.get(domain) >= 0)
    this.#counts.set(domain, count)
    this.#choices.clear()
    this.#least = undefined
  }

  /**
   * Returns the allowed choice for a pod on a place. `pod`: the pod's own strict requirement on the key. `node`: the place's requirement; undefined:
   * any. Not for the hostname, which `allowsHost` decides.
   */
  choose(pod: Requirement | undefined, node: Requirement | undefined, selectsItself: boolean): Choice {
    const of = (one: Requirement | undefined) => (one === undefined ? 0 : this.#sets.idOf(one) + 1)
    const memo = (of(pod) * 2 + Number(selectsItself)) * 2 ** 26 + of(node)
    if (this.#choices.has(memo)) return this.#choices.get(memo)
    const choice = this.#choose(pod, node, selectsItself)
    this.#choices.set(memo, choice)
    return choice
  }

  /** Whether a pod may go to the place with this hostname. */
  allowsHost(domain: number, pod: Requirement | undefined, selectsItself: boolean): boolean {
    const count = this.countOf(domain)
    if (this.rule.kind === 'topology spread') return count + Number(selectsItself) <= this.rule.maxSkew
    if (this.rule.kind === 'pod anti-affinity') return count === 0
    if (pod !== undefined && !allows(pod, this.#domains.name(this.key, domain))) return false
    return count > 0 || (selectsItself && !this.#hasPodsWithin(pod))
  }

  /** Returns why no choice was left, with the present counts. */
  refusal(podDomains: Requirement, nodeDomains: Requirement): TopologyRefusal {
    const counts = new Map(
      [...this.#knownDomains(), ...this.#knownHosts.flatMap((hosts) => [...hosts()])].map((domain) => [
        this.#domains.name(this.key, domain),
        this.countOf(domain),
      ]),
    )
    return topologyRefusal(this.rule, counts, { podDomains, nodeDomains })
  }

  #choose(pod: Requirement | undefined, node: Requirement | undefined, selectsItself: boolean): Choice {
    if (this.rule.kind === 'topology spread') return this.#leastCrowded(node, selectsItself)
    const within = (domain: number) => this.#allows(pod, domain) && this.#allows(node, domain)
    if (this.rule.kind === 'pod anti-affinity')
      return this.#choice((domain) => this.countOf(domain) === 0 && within(domain))
    const together = this.#choice((domain) => this.countOf(domain) > 0 && within(domain))
    if (together !== undefined || !selectsItself || this.#hasPodsWithin(pod)) return together
    return this.#firstDomains(pod, node)
  }

  /** The first pod of a group may choose its place's own domain if allowed, and the first domain that is allowed to it. */
  #firstDomains(pod: Requirement | undefined, node: Requirement | undefined): Choice {
    const known = this.#knownDomains()
      .map((domain) => ({ domain, name: this.#domains.name(this.key, domain) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    const here = known.find(({ domain }) => this.#allows(pod, domain) && this.#allows(node, domain))
    const anywhere = known.find(({ domain }) => this.#allows(pod, domain))
    const names = [here, anywhere].flatMap((one) => (one === undefined ? [] : [one.name]))
    return names.length === 0 ? undefined : this.#requirement(names)
  }

  /** Returns the allowed domain with the fewest pods; of several the lowest name. */
  #leastCrowded(node: Requirement | undefined, selectsItself: boolean): Choice {
    this.#least ??= this.#leastCount()
    const least = this.#least
    let best = Number.POSITIVE_INFINITY
    let chosen: string | undefined
    for (const domain of this.#knownDomains()) {
      const count = this.countOf(domain) + Number(selectsItself)
      if (count - least > this.rule.maxSkew || count > best || !this.#allows(node, domain)) continue
      const name = this.#domains.name(this.key, domain)
      if (count === best && chosen !== undefined && name > chosen) continue
      best = count
      chosen = name
    }
    return chosen === undefined ? undefined : this.#requirement([chosen])
  }

  #leastCount(): number {
    const { minDomains = 0 } = this.rule
    if (this.#known < minDomains) return 0
    let least = 2 ** 31 - 1
    for (const domain of this.#knownDomains()) least = Math.min(least, this.countOf(domain))
    return least
  }

  #hasPodsWithin(pod: Requirement | undefined): boolean {
    if (this.occupied === 0) return false
    if (pod === undefined) return true
    return this.#knownDomains().some((domain) => this.countOf(domain) > 0 && this.#allows(pod, domain))
  }

  #knownDomains(): number[] {
    return this.#counts.known()
  }

  #allows(requirement: Requirement | undefined, domain: number): boolean {
    return requirement === undefined || this.#domains.allows(requirement, this.key, domain)
  }

  #choice(wanted: (domain: number) => boolean): Choice {
    const names = this.#knownDomains().filter(wanted)
    return names.length === 0
      ? undefined
      : this.#requirement(names.map((domain) => this.#domains.name(this.key, domain)))
  }

  #requirement(names: readonly string[]): Requirement {
    const made = inValues(this.key, names)
    return this.#sets.requirement(this.#sets.idOf(made))
  }
}

const pageBits = 6
const pageSize = 1 << pageBits
const emptyPage: readonly number[] = Array.from({ length: pageSize }, () => unknown)

/**
 * Pods by domain; domains may be unknown. A copy shares its pages with the original, which must not change any more, until it changes them. Hostnames
 * are many, and a pass changes few of them.
 */
class DomainCounts {
  readonly #pages: (readonly number[])[]
  /** Whether a page is its own. */
  readonly #own: boolean[] = []

  constructor(before?: DomainCounts) {
    this.#pages = before === undefined ? [] : before.#pages.slice()
  }

  /** Returns -1 for an unknown domain. */
  get(domain: number): number {
    const page = this.#pages[domain >>> pageBits]
    return page === undefined ? unknown : (page[domain & (pageSize - 1)] as number)
  }

  /** Sets a count; -1 makes the domain unknown. */
  set(domain: number, count: number): void {
    const at = domain >>> pageBits
    while (this.#pages.length <= at) this.#pages.push(emptyPage)
    if (this.#own[at] !== true) {
      this.#pages[at] = (this.#pages[at] as readonly number[]).slice()
      this.#own[at] = true
    }
    ;(this.#pages[at] as number[])[domain & (pageSize - 1)] = count
  }

  /** Returns known domains, in order of their numbers. */
  known(): number[] {
    const known: number[] = []
    this.#pages.forEach((page, at) => {
      if (page === emptyPage) return
      for (let index = 0; index < pageSize; index++) if (page[index] !== unknown) known.push((at << pageBits) + index)
    })
    return known
  }
}
