import type { Pod, Taint } from '../../objects.ts'
import { labels } from '../../requirements/labels.ts'
import { untolerated } from '../../taints.ts'
import { entryOf } from '../../values/records.ts'
import type { RequirementSet, RequirementSets } from '../offerings/requirement-sets.ts'
import type { SolverMemory } from '../solver/memory.ts'
import type { LabelFacts, LevelFacts, ShapeFacts } from '../solver/pod-shapes.ts'
import { ByLabels, pairsOf } from './by-selector.ts'
import { CountedGroup, type RunningIndex } from './counted-group.ts'
import { RunningInverse } from './running-inverse.ts'
import { labelKey } from './running-pods.ts'
import { Domains, GroupFacts, TopologyGroup } from './topology-group.ts'
import {
  inverseRules,
  type RuleContext,
  ruleOf,
  type Statement,
  statements,
  type TopologyRule,
} from './topology-rules.ts'

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
  /** In order of their names. */
  readonly nodes: readonly CountedNode[]
  readonly pools: readonly PoolDomains[]
}

/**
 * A rule as a pod states it. Rules of one id share their counts, and the first pod that states one decides for all; rules of one variant
 * are the same in every respect.
 */
export interface StatedRule {
  readonly rule: TopologyRule
  readonly variant: string
  readonly pod: Pod
}

/** What topology is before a pass, whatever pods the pass is about. What is found out for one pass is there for the next. */
export class TopologyBase {
  readonly domains = new Domains()
  readonly #input: TopologyInput
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
  }

  get nodes(): readonly CountedNode[] {
    return this.#input.nodes
  }

  labelsOf(pod: Pod): LabelFacts {
    const text = labelKey(pod)
    let known = this.#labels.get(text)
    if (known === undefined) {
      known = labelFacts(text, pod.metadata.namespace ?? 'default', pod.metadata.labels)
      this.#labels.set(text, known)
    }
    return known
  }

  /** What a pod states at this level. */
  rulesOf(level: LevelFacts): readonly StatedRule[] {
    level.rules ??= statements(level.pod, this.#input).map((one) => this.#statedOnce(one, level.pod))
    return level.rules
  }

  /** Levels of a pod have most statements in common, and each is worked out once. */
  #statedOnce(statement: Statement, pod: Pod): StatedRule {
    const before = this.#statements.get(statement.source) ?? []
    const known = before.find((one) => one.rule.kind === statement.kind && isStatedAlike(one.pod, pod))
    if (known !== undefined) return known
    const made = stated(ruleOf(statement, pod, this.#input), pod)
    this.#statements.set(statement.source, [...before, made])
    return made
  }

  /** What pods of a shape state to keep others away. */
  inverseRulesOf(shape: ShapeFacts): readonly StatedRule[] {
    shape.inverseRules ??= this.inverseRules(shape.pod)
    return shape.inverseRules
  }

  inverseRules(pod: Pod): readonly StatedRule[] {
    return inverseRules(pod, this.#input).map((rule) => stated(rule, pod))
  }

  /** The anti-affinity of pods that run. */
  get inverse(): RunningInverse {
    this.#inverse ??= new RunningInverse(this)
    return this.#inverse
  }

  /** The group of a rule without pods. It knows the domains that pools can make; unless taints are to be ignored, those that the pod tolerates. */
  uncounted({ rule, variant, pod }: StatedRule): CountedGroup {
    const known = this.#uncounted.get(variant)
    if (known !== undefined) return known
    const pools = new Set<number>()
    for (const pool of this.#input.pools) {
      if (rule.filter.taintsPolicy !== 'Ignore' && untolerated(pool.taints, pod.tolerations).length > 0) continue
      for (const domain of pool.domainsOf(rule.key)) pools.add(this.domains.id(rule.key, domain))
    }
    const group = new TopologyGroup(new GroupFacts(rule, this.domains, this.#input.sets))
    for (const domain of pools) group.register(domain)
    const made = new CountedGroup(group, pools, this)
    this.#uncounted.set(variant, made)
    return made
  }

  /** The group of a rule with the places that there are and the pods that run. */
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
    const running = this.#input.memory.running.on(this.#inhabited)
    if (this.#runningByLabels === undefined) {
      this.#runningByLabels = new ByLabels()
      for (const [text, { namespace, labels: own }] of running) {
        const facts = labelFacts(text, namespace, own)
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

  /** The domain in which the pods of a node are, whatever counts them. */
  domainOf(node: CountedNode, key: string): number | undefined {
    const name = entryOf(node.labels, key) ?? (key === labels.hostname ? node.name : undefined)
    return name === undefined ? undefined : this.domains.id(key, name)
  }
}

function labelFacts(text: string, namespace: string, own: LabelFacts['labels']): LabelFacts {
  return { text, namespace, labels: own, pairs: pairsOf(own) }
}

/** Whether a statement means the same for two pods: they are levels of one pod, but for what a spread's nodes are filtered by. */
function isStatedAlike(a: Pod, b: Pod): boolean {
  const required = ({ affinity }: Pod) => affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return (
    a.metadata === b.metadata &&
    a.tolerations === b.tolerations &&
    a.nodeSelector === b.nodeSelector &&
    required(a) === required(b)
  )
}

/** The id of a rule leaves out what upstream leaves out; its variant holds all that the rule was made of. */
function stated(rule: TopologyRule, pod: Pod): StatedRule {
  const required = pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const filtered = rule.kind === 'topology spread' ? [pod.nodeSelector, required] : []
  const variant = JSON.stringify([rule.id, rule.minDomains, rule.selector, pod.tolerations, filtered])
  return { rule, variant, pod }
}
