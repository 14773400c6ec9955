import type { Pod } from '../../objects.ts'
import { labels } from '../../requirements/labels.ts'
import { entryOf } from '../../values/records.ts'
import type { RequirementSets } from '../offerings/requirement-sets.ts'
import { ByLabels } from './by-selector.ts'
import type { RepellingPod, StatingPod } from './concern.ts'
import { CountedGroup, type RunningIndex } from './counted-group.ts'
import { Domains } from './domains.ts'
import { GroupFacts } from './group-facts.ts'
import { type CountedNode, type LabelFacts, labelFacts } from './label-facts.ts'
import { type DomainsOfPool, PossibleDomains } from './possible-domains.ts'
import { RunningInverse } from './running-inverse.ts'
import { labelKey, type RunningPods } from './running-pods.ts'
import { isStatedAlike, type StatedRule, stated } from './stated-rule.ts'
import { TopologyGroup } from './topology-group.ts'
import { inverseRules, type RuleContext, ruleOf, type Statement, statements } from './topology-rules.ts'

export interface TopologyInput extends RuleContext {
  readonly sets: RequirementSets
  /** The running pods, kept from earlier passes. */
  readonly running: RunningPods
  /** In order of their names. */
  readonly nodes: readonly CountedNode[]
  readonly pools: readonly DomainsOfPool[]
}

/** Topology before a pass, independent of the pass' pods. Results of one pass are kept for the next. */
export class TopologyBase {
  readonly domains = new Domains()
  readonly #input: TopologyInput
  readonly #possible: PossibleDomains
  readonly #labels = new Map<string, LabelFacts>()
  /** Rules by what states them. */
  readonly #statements = new WeakMap<object, readonly StatedRule[]>()
  readonly #uncounted = new Map<string, CountedGroup>()
  readonly #counted = new Map<string, CountedGroup>()
  readonly #places = new Map<string, ReadonlyMap<number, readonly CountedNode[]>>()
  #runningByLabels: ByLabels<LabelFacts> | undefined
  #inhabited: ReadonlyMap<string, CountedNode> | undefined
  #inverse: RunningInverse | undefined

  constructor(input: TopologyInput) {
    this.#input = input
    this.#possible = new PossibleDomains(input.pools, input.sets)
  }

  get nodes(): readonly CountedNode[] {
    return this.#input.nodes
  }

  labelsOf(pod: Pod): LabelFacts {
    const text = labelKey(pod)
    let known = this.#labels.get(text)
    if (known === undefined) {
      known = labelFacts(text, pod.metadata)
      this.#labels.set(text, known)
    }
    return known
  }

  rulesOf(level: StatingPod): readonly StatedRule[] {
    level.rules ??= statements(level.pod, this.#input).map((one) =>
      this.#statedOnce(one, one.kind === 'topology spread' ? level.whole : level.pod),
    )
    return level.rules
  }

  /** Levels of a pod share most statements, and each is evaluated once. */
  #statedOnce(statement: Statement, pod: Pod): StatedRule {
    const before = this.#statements.get(statement.source) ?? []
    const known = before.find((one) => one.rule.kind === statement.kind && isStatedAlike(one.pod, pod))
    if (known !== undefined) return known
    const made = stated(ruleOf(statement, pod, this.#input), pod)
    this.#statements.set(statement.source, [...before, made])
    return made
  }

  /** Returns the rules by which pods of a shape keep others away. */
  inverseRulesOf(shape: RepellingPod): readonly StatedRule[] {
    shape.inverseRules ??= this.inverseRules(shape.pod)
    return shape.inverseRules
  }

  inverseRules(pod: Pod): readonly StatedRule[] {
    return inverseRules(pod, this.#input).map((rule) => stated(rule, pod))
  }

  /** Returns the anti-affinity of running pods. */
  get inverse(): RunningInverse {
    this.#inverse ??= new RunningInverse(this)
    return this.#inverse
  }

  /** Returns the group of a rule without pods. It has the domains that new nodes of pools can be in. */
  uncounted(one: StatedRule): CountedGroup {
    const known = this.#uncounted.get(one.variant)
    if (known !== undefined) return known
    const { rule } = one
    const possible = new Set(this.#possible.of(one).map((name) => this.domains.id(rule.key, name)))
    const group = new TopologyGroup(new GroupFacts(rule, this.domains, this.#input.sets))
    for (const domain of possible) group.register(domain)
    const made = new CountedGroup(group, possible, this)
    this.#uncounted.set(one.variant, made)
    return made
  }

  /** Returns the group of a rule with the existing places and the running pods. */
  counted(one: StatedRule): CountedGroup {
    const known = this.#counted.get(one.variant)
    if (known !== undefined) return known
    const { group, pools } = this.uncounted(one)
    const made = new CountedGroup(new TopologyGroup(group.facts, group), pools, this)
    this.#counted.set(one.variant, made)
    made.registerPlaces()
    made.countRunning(this.#running())
    return made
  }

  /** Other passes with the same memory may have counted other pods since. */
  #running(): RunningIndex {
    this.#inhabited ??= new Map(this.nodes.filter(({ pods }) => pods.length > 0).map((node) => [node.name, node]))
    const running = this.#input.running.on(this.#inhabited)
    if (this.#runningByLabels === undefined) {
      this.#runningByLabels = new ByLabels()
      for (const [text, own] of running) {
        const facts = labelFacts(text, own)
        this.#runningByLabels.add(facts.pairs, facts)
      }
    }
    return { running, inhabited: this.#inhabited, byLabels: this.#runningByLabels }
  }

  /** Places by their domain for a key. */
  placesBy(key: string): ReadonlyMap<number, readonly CountedNode[]> {
    const known = this.#places.get(key)
    if (known !== undefined) return known
    const places = new Map<number, CountedNode[]>()
    for (const node of this.nodes) {
      const name = entryOf(node.placeLabels, key)
      if (name === undefined) continue
      const domain = this.domains.id(key, name)
      const others = places.get(domain)
      if (others === undefined) places.set(domain, [node])
      else others.push(node)
    }
    this.#places.set(key, places)
    return places
  }

  /** Returns the domain of a node's pods, whatever counts them. */
  domainOf(node: CountedNode, key: string): number | undefined {
    const name = entryOf(node.labels, key) ?? (key === labels.hostname ? node.name : undefined)
    return name === undefined ? undefined : this.domains.id(key, name)
  }
}
