import type { LabelSelector, Pod, PodAffinityTerm, TopologySpreadConstraint } from '../objects.ts'
import { podRequirements, type Requirements } from '../requirements.ts'
import { selects } from './label-selector.ts'

/** Which nodes a spread constraint counts. */
interface NodeFilter {
  /** The pod's required node affinity and selector (nodeAffinityPolicy Honor). */
  readonly requirements?: Requirements
  /** The pod, whose tolerations decide (nodeTaintsPolicy Honor). */
  readonly tolerating?: Pod
}

/**
 * One rule over the domains of a label key, shared by all pods that state it alike. `spread` and `antiAffinity` bind the pods that state it and count
 * the pods that it selects; `inverse` binds the pods that it selects and counts those that state it.
 */
export interface TopologyRule {
  readonly id: string
  readonly kind: 'spread' | 'antiAffinity' | 'inverse'
  readonly key: string
  readonly selector: LabelSelector | undefined
  readonly namespaces: { readonly names: ReadonlySet<string>; readonly selector: LabelSelector | undefined }
  readonly maxSkew: number
  readonly minDomains: number
  readonly filter: NodeFilter
}

const namespaceOf = (pod: Pod) => pod.metadata.namespace ?? 'default'

/** Whether a rule's selector and namespaces take in a pod. */
export function selectsPod(
  rule: TopologyRule,
  pod: Pod,
  namespaceLabels: ReadonlyMap<string, Readonly<Record<string, string>>> | undefined,
): boolean {
  const namespace = namespaceOf(pod)
  const inNamespace =
    rule.namespaces.names.has(namespace) || selects(rule.namespaces.selector, namespaceLabels?.get(namespace) ?? {})
  return inNamespace && selects(rule.selector, pod.metadata.labels)
}

/** The rules that a pod states. Preferred anti-affinity and ScheduleAnyway bind until they are relaxed away. */
export function statedRules(pod: Pod): readonly TopologyRule[] {
  const anti = pod.affinity?.podAntiAffinity
  const required = anti?.requiredDuringSchedulingIgnoredDuringExecution ?? []
  const preferred = anti?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  return [
    ...pod.topologySpreadConstraints.map((constraint) => spreadRule(pod, constraint)),
    ...[...required, ...preferred.map(({ podAffinityTerm }) => podAffinityTerm)].map((term) =>
      antiAffinityRule(pod, term, 'antiAffinity'),
    ),
  ]
}

/** The rules by which a pod keeps others away: its required anti-affinity. */
export function inverseRules(pod: Pod): readonly TopologyRule[] {
  const terms = pod.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
  return terms.map((term) => antiAffinityRule(pod, term, 'inverse'))
}

function antiAffinityRule(pod: Pod, term: PodAffinityTerm, kind: 'antiAffinity' | 'inverse'): TopologyRule {
  const listed = term.namespaces ?? []
  const own = listed.length === 0 && term.namespaceSelector === undefined ? [namespaceOf(pod)] : listed
  return withId({
    kind,
    key: term.topologyKey,
    selector: term.labelSelector,
    namespaces: { names: new Set(own), selector: term.namespaceSelector },
    maxSkew: 0,
    minDomains: 0,
    filter: {},
  })
}

function spreadRule(pod: Pod, constraint: TopologySpreadConstraint): TopologyRule {
  const { labelSelector, matchLabelKeys = [] } = constraint
  const own = matchLabelKeys.flatMap((key) => {
    const value = pod.metadata.labels[key]
    return value === undefined ? [] : [{ key, operator: 'In' as const, values: [value] }]
  })
  const selector =
    own.length === 0
      ? labelSelector
      : { ...labelSelector, matchExpressions: [...(labelSelector?.matchExpressions ?? []), ...own] }
  const filter: NodeFilter = {
    ...(constraint.nodeAffinityPolicy === 'Ignore' ? {} : { requirements: podRequirements(pod, { strict: true }) }),
    ...(constraint.nodeTaintsPolicy === 'Honor' ? { tolerating: pod } : {}),
  }
  return withId({
    kind: 'spread',
    key: constraint.topologyKey,
    selector,
    namespaces: { names: new Set([namespaceOf(pod)]), selector: undefined },
    maxSkew: constraint.maxSkew,
    minDomains: constraint.minDomains ?? 0,
    filter,
  })
}

function withId(rule: Omit<TopologyRule, 'id'>): TopologyRule {
  const { filter, namespaces } = rule
  const id = JSON.stringify([
    rule.kind,
    rule.key,
    rule.selector,
    [...namespaces.names].sort(),
    namespaces.selector,
    rule.maxSkew,
    rule.minDomains,
    filter.requirements === undefined ? '' : requirementsKey(filter.requirements),
    filter.tolerating?.tolerations,
  ])
  return { ...rule, id }
}

/** A text that two requirements share exactly when they are the same. */
export function requirementsKey(sets: Requirements): string {
  const parts: string[] = []
  for (const { key, complement, values, gte, lte, minValues } of sets.values()) {
    parts.push(
      `${key}|${complement ? '!' : ''}${[...values].sort().join(',')}|${gte ?? ''}|${lte ?? ''}|${minValues ?? ''}`,
    )
  }
  return parts.sort().join(';')
}
