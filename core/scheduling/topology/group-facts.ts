import type { Taint } from '../../objects.ts'
import { labels } from '../../requirements/labels.ts'
import { allows, operatorOf, type Requirement } from '../../requirements/requirement.ts'
import { type RequirementSet, type RequirementSets, withoutHostname } from '../offerings/requirement-sets.ts'
import type { Domains } from './domains.ts'
import type { LabelFacts } from './label-facts.ts'
import { selects } from './label-selector.ts'
import { countsTainted, type TopologyRule } from './topology-rules.ts'

/** Facts about a group that depend only on its rule, shared by all groups of the rule. */
export class GroupFacts {
  readonly rule: TopologyRule
  readonly key: string
  readonly isHostname: boolean
  readonly domains: Domains
  readonly sets: RequirementSets
  readonly #alternatives: readonly RequirementSet[]
  /** Each alternative's requirement on the hostname; unset when none has one. */
  readonly #alternativeHosts: readonly (Requirement | undefined)[] | undefined
  /** Whether it leaves out any node at all. */
  readonly #isFiltered: boolean
  readonly #filtered = new Map<number, boolean>()

  constructor(rule: TopologyRule, domains: Domains, sets: RequirementSets) {
    this.rule = rule
    this.key = rule.key
    this.isHostname = rule.key === labels.hostname
    this.domains = domains
    this.sets = sets
    const { affinityPolicy, alternatives, keys, taintsPolicy } = rule.filter
    const honored = affinityPolicy === 'Honor' ? alternatives : []
    this.#alternatives = honored.map((one) => sets.intern(withoutHostname(one)))
    this.#isFiltered = keys.length > 0 || taintsPolicy === 'Honor' || honored.some((one) => one.size > 0)
    const hosts = honored.map((one) => one.get(labels.hostname))
    this.#alternativeHosts = hosts.some((one) => one !== undefined) ? hosts : undefined
  }

  /** Whether the rule selects pods with these labels. */
  selects({ namespace, labels: own }: Pick<LabelFacts, 'namespace' | 'labels'>): boolean {
    return this.rule.namespaces.has(namespace) && selects(this.rule.selector, own)
  }

  /** Whether a node with these labels or requirements counts. `hostname`: its label, if it has one. */
  includes(set: RequirementSet, taints: readonly Taint[], hostname: string | undefined): boolean {
    if (!this.#isFiltered) return true
    if (!countsTainted(this.rule, taints)) return false
    const known = this.#filtered.get(set.id)
    if (known !== undefined) return known
    const { keys } = this.rule.filter
    const hasKeys = keys.every((key) => set.map.has(key))
    if (hasKeys && this.#alternativeHosts !== undefined)
      return this.#alternatives.some(
        (one, at) => admitsHost(this.#alternativeHosts?.[at], hostname) && this.#meets(set, one),
      )
    const isMet = this.#alternatives.length === 0 || this.#alternatives.some((one) => this.#meets(set, one))
    this.#filtered.set(set.id, hasKeys && isMet)
    return hasKeys && isMet
  }

  #meets(set: RequirementSet, wanted: RequirementSet): boolean {
    return typeof this.sets.merged(set, wanted, 'strict') !== 'string'
  }
}

/** Whether a node with this hostname, or without one, meets a requirement. */
function admitsHost(wanted: Requirement | undefined, hostname: string | undefined): boolean {
  if (wanted === undefined) return true
  if (hostname !== undefined) return allows(wanted, hostname)
  return operatorOf(wanted) === 'NotIn' || operatorOf(wanted) === 'DoesNotExist'
}
