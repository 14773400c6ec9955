import type { LabelSelector, Pod, PodAffinityTerm, Taint, Toleration, TopologySpreadConstraint } from '../../objects.ts'
import { labels } from '../../requirements/labels.ts'
import { type Requirements, requirements } from '../../requirements/requirements.ts'
import { untolerated } from '../../taints.ts'
import { entryOf } from '../../values/records.ts'
import type { TopologyRefusal } from '../unschedulable.ts'
import { selects } from './label-selector.ts'

/** Which nodes a rule counts. Without policies and keys every node counts. */
interface NodeFilter {
  /** One of these must hold (nodeAffinityPolicy Honor). */
  readonly alternatives: readonly Requirements[]
  /** Nodes must have these labels too. */
  readonly keys: readonly string[]
  readonly affinityPolicy?: 'Honor' | 'Ignore'
  readonly taintsPolicy?: 'Honor' | 'Ignore'
  readonly tolerations: readonly Toleration[]
}

/** One rule over the domains of a label key, shared by all pods that state the same. */
export interface TopologyRule {
  readonly id: string
  readonly kind: TopologyRefusal['rule']
  readonly key: string
  readonly namespaces: ReadonlySet<string>
  readonly selector: LabelSelector | undefined
  readonly maxSkew: number
  readonly minDomains?: number | undefined
  readonly filter: NodeFilter
}

export interface RuleContext {
  readonly namespaceLabels: ReadonlyMap<string, Readonly<Record<string, string>>>
  readonly ignorePreferences: boolean
}

const everyNode: NodeFilter = { alternatives: [], keys: [], tolerations: [] }
const noSkew = 2 ** 31 - 1

/** A spread constraint or affinity term of a pod, by which it states a rule. */
export type Statement =
  | { readonly kind: 'topology spread'; readonly source: TopologySpreadConstraint }
  | { readonly kind: 'pod affinity' | 'pod anti-affinity'; readonly source: PodAffinityTerm }

/** Returns a pod's statements of rules. Preferences and ScheduleAnyway bind until they are relaxed (reference/karpenter-core.md 3.8). */
export function statements(pod: Pod, context: RuleContext): readonly Statement[] {
  const { podAffinity, podAntiAffinity } = pod.affinity ?? {}
  const spreads = pod.topologySpreadConstraints.filter(
    ({ whenUnsatisfiable }) => !context.ignorePreferences || whenUnsatisfiable === 'DoNotSchedule',
  )
  return [
    ...spreads.map((source) => ({ kind: 'topology spread', source }) as const),
    ...termsOf(podAffinity, context).map((source) => ({ kind: 'pod affinity', source }) as const),
    ...termsOf(podAntiAffinity, context).map((source) => ({ kind: 'pod anti-affinity', source }) as const),
  ]
}

export function ruleOf(statement: Statement, pod: Pod, context: RuleContext): TopologyRule {
  return statement.kind === 'topology spread'
    ? spreadRule(pod, statement.source)
    : affinityRule(statement, pod, context)
}

/** Returns the rules by which a pod keeps others away: its required anti-affinity. */
export function inverseRules(pod: Pod, context: RuleContext): readonly TopologyRule[] {
  const terms = pod.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
  return terms.map((source) => affinityRule({ kind: 'pod anti-affinity', source }, pod, context))
}

type Terms = NonNullable<Pod['affinity']>['podAffinity']

function termsOf(terms: Terms, { ignorePreferences }: RuleContext): readonly PodAffinityTerm[] {
  const preferred = ignorePreferences ? [] : (terms?.preferredDuringSchedulingIgnoredDuringExecution ?? [])
  return [
    ...(terms?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...preferred.map(({ podAffinityTerm }) => podAffinityTerm),
  ]
}

function affinityRule(
  { kind, source: term }: Exclude<Statement, { readonly kind: 'topology spread' }>,
  pod: Pod,
  context: RuleContext,
): TopologyRule {
  return withId({
    kind,
    key: term.topologyKey,
    namespaces: namespacesOf(pod, term, context),
    selector: term.labelSelector,
    maxSkew: noSkew,
    filter: everyNode,
  })
}

function namespacesOf(
  { metadata }: Pod,
  { namespaces = [], namespaceSelector }: PodAffinityTerm,
  { namespaceLabels }: RuleContext,
): ReadonlySet<string> {
  if (namespaceSelector === undefined) {
    return new Set(namespaces.length === 0 ? [metadata.namespace ?? 'default'] : namespaces)
  }
  const selected = [...namespaceLabels].filter(([, labels]) => selects(namespaceSelector, labels))
  return new Set([...namespaces, ...selected.map(([name]) => name)])
}

function spreadRule(pod: Pod, constraint: TopologySpreadConstraint): TopologyRule {
  return withId({
    kind: 'topology spread',
    key: constraint.topologyKey,
    namespaces: new Set([pod.metadata.namespace ?? 'default']),
    selector: withMatchLabelKeys(pod, constraint),
    maxSkew: constraint.maxSkew,
    minDomains: constraint.minDomains,
    filter: {
      alternatives: nodeAlternatives(pod),
      keys: otherKeys(pod, constraint),
      affinityPolicy: constraint.nodeAffinityPolicy ?? 'Honor',
      taintsPolicy: constraint.nodeTaintsPolicy ?? 'Ignore',
      tolerations: pod.tolerations,
    },
  })
}

/**
 * Returns the other topology keys without which kube-scheduler leaves a node out: those of the pod's DoNotSchedule constraints. Every node gets a
 * hostname.
 */
function otherKeys({ topologySpreadConstraints }: Pod, { topologyKey, whenUnsatisfiable }: TopologySpreadConstraint) {
  if (whenUnsatisfiable !== 'DoNotSchedule') return []
  const hard = topologySpreadConstraints.filter((one) => one.whenUnsatisfiable === 'DoNotSchedule')
  const keys = new Set(hard.map((one) => one.topologyKey))
  return [...keys].filter((key) => key !== topologyKey && key !== labels.hostname).sort()
}

/** Whether nodes with these taints count: as kube-scheduler, by those that keep pods away. */
export function countsTainted({ filter }: TopologyRule, taints: readonly Taint[]): boolean {
  if (filter.taintsPolicy !== 'Honor') return true
  return untolerated(taints, filter.tolerations).every(({ effect }) => effect === 'PreferNoSchedule')
}

/**
 * Returns what a node that does not exist yet must meet to count; it needs one of these. Where nodes count that the pod may not use, a domain that the
 * pod's own requirement on the key leaves out waits for its first node: nothing else would ever fill it.
 */
export function alternativesOfNewNodes({ key, filter }: TopologyRule): readonly Requirements[] {
  const { alternatives, affinityPolicy } = filter
  if (alternatives.length === 0) return [new Map()]
  if (affinityPolicy === 'Honor') return alternatives
  return alternatives.map((one) => new Map([...one].filter(([wanted]) => wanted === key)))
}

/** `matchLabelKeys` narrows the selector to pods with the same values as this one. */
function withMatchLabelKeys(
  { metadata }: Pod,
  { labelSelector, matchLabelKeys = [] }: TopologySpreadConstraint,
): LabelSelector | undefined {
  const own = matchLabelKeys.flatMap((key) => {
    const value = entryOf(metadata.labels, key)
    return value === undefined ? [] : [{ key, operator: 'In' as const, values: [value] }]
  })
  if (own.length === 0) return labelSelector
  return { ...labelSelector, matchExpressions: [...(labelSelector?.matchExpressions ?? []), ...own] }
}

/** Returns the node selector together with each of the required node affinity terms. */
function nodeAlternatives({ nodeSelector, affinity }: Pod): readonly Requirements[] {
  const selected = Object.entries(nodeSelector).map(([key, value]) => ({
    key,
    operator: 'In' as const,
    values: [value],
  }))
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  if (required === undefined) return [requirements(selected)]
  return (required.nodeSelectorTerms ?? []).map(({ matchExpressions = [] }) =>
    requirements([...selected, ...matchExpressions]),
  )
}

/** Rules with the same id share their counts. As upstream, lists in it have no order. */
function withId(rule: Omit<TopologyRule, 'id'>): TopologyRule {
  const { kind, key, namespaces, selector, maxSkew, minDomains, filter } = rule
  const id = JSON.stringify([
    kind,
    key,
    [...namespaces].sort(),
    maxSkew,
    minDomains,
    [...new Set(filter.alternatives.map(alternativeKey))].sort(),
    filter.keys,
    filter.affinityPolicy,
    filter.taintsPolicy,
    oddOnes(filter.tolerations.map(tolerationKey)),
    selectorKey(selector),
  ])
  return { ...rule, id }
}

/** Compares lists without order, as upstream's hash does: duplicate entries cancel each other out. */
function oddOnes(texts: readonly string[]): readonly string[] {
  const odd = new Set<string>()
  for (const text of texts) if (!odd.delete(text)) odd.add(text)
  return [...odd].sort()
}

function alternativeKey(alternative: Requirements): string {
  const sets = [...alternative.values()].map(({ key, complement, values, gte, lte }) =>
    JSON.stringify([key, complement, [...values].sort(), String(gte), String(lte)]),
  )
  return JSON.stringify(sets.sort())
}

function tolerationKey({ key, operator, value, effect, tolerationSeconds }: Toleration): string {
  return JSON.stringify([key ?? '', operator ?? '', value ?? '', effect ?? '', tolerationSeconds ?? null])
}

function selectorKey(selector: LabelSelector | undefined): unknown {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {}
  const expressions = matchExpressions.map(({ key, operator, values = [] }) =>
    JSON.stringify([key, operator, oddOnes(values)]),
  )
  const equal = Object.entries(matchLabels).map((pair) => JSON.stringify(pair))
  return [[...new Set(expressions)].sort(), equal.sort()]
}

/** Most domains in a refusal. */
const shownDomains = 25

/** Returns the refusal of a rule that leaves no choice, with its pods by domain. */
export function topologyRefusal(
  { kind, key }: TopologyRule,
  counts: ReadonlyMap<string, number>,
  asked: Pick<TopologyRefusal, 'podDomains' | 'nodeDomains'>,
): TopologyRefusal {
  const shown = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, shownDomains)
  return { kind: 'topology', rule: kind, key, counts: shown, others: counts.size - shown.length, ...asked }
}
