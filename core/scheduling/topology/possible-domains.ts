import type { Taint } from '../../objects.ts'
import { labels } from '../../requirements/labels.ts'
import { inValues, type Requirement, requirement } from '../../requirements/requirement.ts'
import type { Requirements } from '../../requirements/requirements.ts'
import { untolerated } from '../../taints.ts'
import { type RequirementSet, type RequirementSets, withoutHostname } from '../offerings/requirement-sets.ts'
import type { StatedRule } from './stated-rule.ts'
import { alternativesOfNewNodes, countsTainted, type TopologyRule } from './topology-rules.ts'

/** A pool whose new nodes may be in domains. */
export interface DomainsOfPool {
  readonly taints: readonly Taint[]
  /** Returns the values that the pool and its types name for a key. */
  domainsOf(key: string): ReadonlySet<string>
  /** Returns what its nodes are that meet these sets; undefined when it makes none. */
  made(wanted: readonly RequirementSet[]): RequirementSet | undefined
  /** Whether some of these nodes can be in the domain. */
  isIn(domain: Requirement, made: RequirementSet): boolean
}

/**
 * The domains that new nodes of pools can be in (reference/karpenter-core.md 3.8). For a spread, unlike upstream, these are nodes that its rule counts:
 * of its pods' own alternatives, and of types on offer (ADR 46).
 */
export class PossibleDomains {
  readonly #pools: readonly DomainsOfPool[]
  readonly #sets: RequirementSets
  readonly #named = new Map<string, ReadonlySet<string>>()

  constructor(pools: readonly DomainsOfPool[], sets: RequirementSets) {
    this.#pools = pools
    this.#sets = sets
  }

  /** Returns those of a rule. */
  of({ rule, pod }: StatedRule): readonly string[] {
    if (rule.kind === 'topology spread') return this.#ofSpread(rule)
    const tolerated = this.#pools.filter(({ taints }) => untolerated(taints, pod.tolerations).length === 0)
    return [...new Set(tolerated.flatMap((pool) => [...pool.domainsOf(rule.key)]))]
  }

  #ofSpread(rule: TopologyRule): readonly string[] {
    if (rule.key === labels.hostname) return []
    const { key, filter } = rule
    const alternatives = alternativesOfNewNodes(rule).filter((one) => !namesHost(one))
    const ownNames = alternatives.map((one) => namedBy(one.get(key)))
    // A pool that leaves the key open makes whatever another pool, or the pod, names.
    const names = new Set([...this.#namedByPools(key), ...ownNames.flatMap((own) => [...(own ?? [])])])
    const left = new Map([...names].map((name) => [name, inValues(key, [name])]))
    const present = filter.keys.map((other) => this.#sets.single(requirement({ key: other, operator: 'Exists' })))
    const wanted = alternatives.map((one) => [this.#sets.intern(withoutHostname(one)), ...present])
    for (const pool of this.#pools) {
      if (!countsTainted(rule, pool.taints)) continue
      for (const [at, one] of wanted.entries()) {
        const made = left.size === 0 ? undefined : pool.made(one)
        if (made === undefined) continue
        for (const name of ownNames[at] ?? left.keys()) {
          const domain = left.get(name)
          if (domain !== undefined && pool.isIn(domain, made)) left.delete(name)
        }
      }
    }
    return [...names].filter((name) => !left.has(name))
  }

  #namedByPools(key: string): ReadonlySet<string> {
    let named = this.#named.get(key)
    if (named === undefined) {
      named = new Set(this.#pools.flatMap((pool) => [...pool.domainsOf(key)]))
      this.#named.set(key, named)
    }
    return named
  }
}

/** Returns the values that a requirement names; undefined when it names none. */
function namedBy(own: Requirement | undefined): ReadonlySet<string> | undefined {
  return own === undefined || own.complement ? undefined : own.values
}

/** Whether only nodes with certain hostnames will do, which no new node has. */
function namesHost(alternative: Requirements): boolean {
  return alternative.get(labels.hostname)?.complement === false
}
