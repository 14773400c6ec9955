import type { Pod } from '../../objects.ts'
import { entryOf } from '../../values/records.ts'
import { BySelector } from './by-selector.ts'
import type { CountedGroup } from './counted-group.ts'
import type { Domains } from './domains.ts'
import type { Gone } from './gone.ts'
import type { CountedNode, LabelFacts } from './label-facts.ts'
import type { StatedRule } from './stated-rule.ts'
import { TopologyGroup } from './topology-group.ts'

/** A running pod that keeps others away. */
interface Repelling {
  readonly pod: Pod
  /** Its index among all of them: groups are evaluated in the order of their first pods. */
  readonly order: number
  readonly stated: StatedRule
  readonly domain: number | undefined
}

/** Running pods that keep others away by one rule, in their order. The first of them determines the rule. */
interface InverseRule {
  readonly pods: Repelling[]
  /** Counts all of them; made at the first request. */
  group: TopologyGroup | undefined
}

/** Change of a rule when pods are removed in simulation. */
interface Loss {
  /** Undefined when none is left. */
  readonly first: Repelling | undefined
  readonly gone: Repelling[]
}

/** Source of running pods' rules. */
export interface InverseSource {
  readonly nodes: readonly CountedNode[]
  readonly domains: Domains
  inverseRules(pod: Pod): readonly StatedRule[]
  /** Returns the group of a rule without pods. */
  uncounted(stated: StatedRule): CountedGroup
}

/** The required anti-affinity of running pods. */
export class RunningInverse {
  readonly #source: InverseSource
  readonly #rules = new Map<string, InverseRule>()
  readonly #byPod = new Map<Pod, { readonly rule: InverseRule; readonly one: Repelling }[]>()
  readonly #bySelector = new BySelector<InverseRule>()
  readonly #selecting = new Map<LabelFacts, readonly InverseRule[]>()

  constructor(source: InverseSource) {
    this.#source = source
    let order = 0
    for (const node of source.nodes) {
      if (!node.isTracked) continue
      for (const pod of node.repelling) {
        const ids = new Set<string>()
        for (const stated of source.inverseRules(pod)) {
          if (ids.has(stated.rule.id)) continue
          ids.add(stated.rule.id)
          const label = entryOf(node.labels, stated.rule.key)
          const domain = label === undefined ? undefined : source.domains.id(stated.rule.key, label)
          this.#enter({ pod, order: order++, stated, domain })
        }
      }
    }
  }

  #enter(one: Repelling): void {
    const { id, selector } = one.stated.rule
    let rule = this.#rules.get(id)
    if (rule === undefined) {
      rule = { pods: [], group: undefined }
      this.#rules.set(id, rule)
      this.#bySelector.add(selector, rule)
    }
    rule.pods.push(one)
    const own = this.#byPod.get(one.pod) ?? []
    this.#byPod.set(one.pod, own)
    own.push({ rule, one })
  }

  rule(id: string): InverseRule | undefined {
    return this.#rules.get(id)
  }

  selecting(pods: LabelFacts): readonly InverseRule[] {
    let known = this.#selecting.get(pods)
    if (known === undefined) {
      known = this.#bySelector.for(pods.pairs).filter((rule) => this.groupOf(rule).facts.selects(pods))
      this.#selecting.set(pods, known)
    }
    return known
  }

  /** Returns the rule's group with all its pods. Passes must not change it. */
  groupOf(rule: InverseRule): TopologyGroup {
    rule.group ??= this.#counted((rule.pods[0] as Repelling).stated, rule.pods)
    return rule.group
  }

  /** Returns the changes of rules when these pods are removed. */
  losses(gone: readonly Pod[]): ReadonlyMap<InverseRule, Loss> {
    const all = new Set(gone)
    const lost = new Map<InverseRule, Repelling[]>()
    for (const pod of gone) {
      for (const { rule, one } of this.#byPod.get(pod) ?? []) {
        const own = lost.get(rule)
        if (own === undefined) lost.set(rule, [one])
        else own.push(one)
      }
    }
    return new Map(
      [...lost].map(([rule, own]) => [rule, { first: rule.pods.find(({ pod }) => !all.has(pod)), gone: own }]),
    )
  }

  /** Returns the rule's group for a pass; undefined when no pod states it any more. */
  without(rule: InverseRule, loss: Loss | undefined): TopologyGroup | undefined {
    const whole = this.groupOf(rule)
    if (loss === undefined) return new TopologyGroup(whole.facts, whole)
    const { first, gone } = loss
    if (first === undefined) return undefined
    if (first.stated.variant !== (rule.pods[0] as Repelling).stated.variant) {
      const lost = new Set(gone)
      return this.#counted(
        first.stated,
        rule.pods.filter((one) => !lost.has(one)),
      )
    }
    const group = new TopologyGroup(whole.facts, whole)
    const { pools } = this.#source.uncounted(first.stated)
    for (const { domain } of gone) {
      if (domain === undefined) continue
      group.discount(domain, 1)
      if (!pools.has(domain)) group.forget(domain)
    }
    return group
  }

  #counted(stated: StatedRule, pods: readonly Repelling[]): TopologyGroup {
    const { group: empty } = this.#source.uncounted(stated)
    const group = new TopologyGroup(empty.facts, empty)
    for (const { domain } of pods) if (domain !== undefined) group.record(domain)
    return group
  }
}

/** The anti-affinity of running pods that a pass continues to count. */
export class InverseGroups {
  readonly #running: RunningInverse
  readonly #losses: ReadonlyMap<InverseRule, Loss>
  /** Rules that another pod decides now. */
  readonly #changed: readonly InverseRule[]
  readonly #groups = new Map<InverseRule, TopologyGroup | undefined>()
  readonly #enter: (group: TopologyGroup) => void

  /** `enter` is called with each group before its use. */
  constructor(running: RunningInverse, gone: Gone | undefined, enter: (group: TopologyGroup) => void) {
    this.#running = running
    this.#losses = running.losses(gone?.repelling ?? [])
    this.#changed = [...this.#losses].flatMap(([rule, { first }]) =>
      first !== undefined && first.stated.variant !== rule.pods[0]?.stated.variant ? [rule] : [],
    )
    this.#enter = enter
  }

  /** Returns the group of a rule that running pods state. */
  byId(id: string): TopologyGroup | undefined {
    const rule = this.#running.rule(id)
    return rule && this.#groupOf(rule)
  }

  /** Returns groups that keep pods with these labels away, in the order of their first pods. */
  selecting(pods: LabelFacts): readonly TopologyGroup[] {
    const selecting = this.#running.selecting(pods)
    if (selecting.length === 0 && this.#changed.length === 0) return []
    return [...new Set([...selecting, ...this.#changed])]
      .sort((a, b) => this.#orderOf(a) - this.#orderOf(b))
      .flatMap((rule) => this.#groupOf(rule) ?? [])
      .filter(({ facts }) => facts.selects(pods))
  }

  #orderOf(rule: InverseRule): number {
    const loss = this.#losses.get(rule)
    return (loss === undefined ? rule.pods[0] : loss.first)?.order ?? 0
  }

  #groupOf(rule: InverseRule): TopologyGroup | undefined {
    if (!this.#groups.has(rule)) {
      const group = this.#running.without(rule, this.#losses.get(rule))
      this.#groups.set(rule, group)
      if (group !== undefined) this.#enter(group)
    }
    return this.#groups.get(rule)
  }
}
