import type { Pod, PodAffinityTerm, TopologySpreadConstraint } from '../../../../../core/objects.ts'
import { isTerminating } from '../../../../../core/pods/pod-rules.ts'
import { selects } from '../../../../../core/scheduling/topology/label-selector.ts'
import { untolerated } from '../../../../../core/taints.ts'
import { hasNodeAffinity } from './node-affinity.ts'
import { isSelected, namespaceOf, type Place, type Places } from './places.ts'

const hard = ({ effect }: { readonly effect: string }) => effect !== 'PreferNoSchedule'

/** Why a place would break a pod's spread constraints; undefined: it does not. */
export function spreadRefusal(pod: Pod, place: Place, { all }: Places): string | undefined {
  const constraints = pod.topologySpreadConstraints.filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule',
  )
  const keys = constraints.map(({ topologyKey }) => topologyKey)
  const refusal = "node(s) didn't match pod topology spread constraints"
  for (const constraint of constraints) {
    const domain = place.node.metadata.labels[constraint.topologyKey]
    if (domain === undefined) return `${refusal} (missing required label)`
    const counts = countsOf(
      pod,
      constraint,
      all.filter(
        (one) => keys.every((key) => one.node.metadata.labels[key] !== undefined) && isCounted(pod, constraint, one),
      ),
    )
    const least = counts.size < (constraint.minDomains ?? 1) ? 0 : Math.min(...counts.values())
    const own = selects(selectorOf(pod, constraint), pod.metadata.labels) ? 1 : 0
    if ((counts.get(domain) ?? 0) + own - least > constraint.maxSkew) return refusal
  }
  return undefined
}

/** Whether a place is one of those over which pods are spread. */
function isCounted(
  pod: Pod,
  { nodeAffinityPolicy = 'Honor', nodeTaintsPolicy = 'Ignore' }: TopologySpreadConstraint,
  { node }: Place,
): boolean {
  if (nodeAffinityPolicy === 'Honor' && !hasNodeAffinity(pod, node)) return false
  return nodeTaintsPolicy === 'Ignore' || untolerated(node.taints.filter(hard), pod.tolerations).length === 0
}

/** Pods that a constraint selects, by domain. */
export function countsOf(
  pod: Pod,
  constraint: TopologySpreadConstraint,
  places: readonly Place[],
): ReadonlyMap<string, number> {
  const selector = selectorOf(pod, constraint)
  const own = new Set([namespaceOf(pod)])
  const counts = new Map<string, number>()
  for (const { node, pods } of places) {
    const domain = node.metadata.labels[constraint.topologyKey]
    if (domain === undefined) continue
    const found = pods.filter((one) => !isTerminating(one) && isSelected(one, selector, own)).length
    counts.set(domain, (counts.get(domain) ?? 0) + found)
  }
  return counts
}

/** `matchLabelKeys` selects only pods with the same values as this one. */
function selectorOf({ metadata }: Pod, { labelSelector, matchLabelKeys = [] }: TopologySpreadConstraint) {
  const same = matchLabelKeys.flatMap((key) => {
    const value = metadata.labels[key]
    return value === undefined ? [] : [{ key, operator: 'In' as const, values: [value] }]
  })
  if (same.length === 0) return labelSelector
  return { ...labelSelector, matchExpressions: [...(labelSelector?.matchExpressions ?? []), ...same] }
}

const requiredOf = (terms: NonNullable<Pod['affinity']>['podAffinity']) =>
  terms?.requiredDuringSchedulingIgnoredDuringExecution ?? []

/** Why pods there, or elsewhere, keep a pod away from a place; undefined: none does. */
export function affinityRefusal(pod: Pod, place: Place, places: Places): string | undefined {
  const affinity = requiredOf(pod.affinity?.podAffinity)
  if (!affinity.every((term) => hasCompany(pod, term, place, places))) return "node(s) didn't match pod affinity rules"
  if (
    requiredOf(pod.affinity?.podAntiAffinity).some((term) =>
      inDomain(place, term, places).some((one) => isMeant(pod, term, one, places)),
    )
  )
    return "node(s) didn't match pod anti-affinity rules"
  const keepsAway = places.all.some(({ node, pods }) =>
    pods.some((other) =>
      requiredOf(other.affinity?.podAntiAffinity).some(
        (term) =>
          node.metadata.labels[term.topologyKey] !== undefined &&
          node.metadata.labels[term.topologyKey] === place.node.metadata.labels[term.topologyKey] &&
          isMeant(other, term, pod, places),
      ),
    ),
  )
  return keepsAway ? "node(s) didn't satisfy existing pods anti-affinity rules" : undefined
}

/** The first of several pods that want each other's company may be alone. */
function hasCompany(pod: Pod, term: PodAffinityTerm, place: Place, places: Places): boolean {
  if (place.node.metadata.labels[term.topologyKey] === undefined) return false
  if (inDomain(place, term, places).some((one) => isMeant(pod, term, one, places))) return true
  const isFirst = !places.all.some(({ pods }) => pods.some((one) => isMeant(pod, term, one, places)))
  return isFirst && isMeant(pod, term, pod, places)
}

/** Pods in the domain of a place. */
export function inDomain({ node }: Place, { topologyKey }: PodAffinityTerm, { all }: Places): readonly Pod[] {
  const domain = node.metadata.labels[topologyKey]
  if (domain === undefined) return []
  return all.filter((other) => other.node.metadata.labels[topologyKey] === domain).flatMap(({ pods }) => pods)
}

/** Whether a pod's term is about another pod. */
export function isMeant(pod: Pod, term: PodAffinityTerm, other: Pod, { namespaceLabels }: Places): boolean {
  const { namespaces = [], namespaceSelector, labelSelector } = term
  const selected =
    namespaceSelector === undefined
      ? []
      : [...namespaceLabels].filter(([, labels]) => selects(namespaceSelector, labels))
  const all = [...namespaces, ...selected.map(([name]) => name)]
  return isSelected(
    other,
    labelSelector,
    new Set(all.length === 0 && namespaceSelector === undefined ? [namespaceOf(pod)] : all),
  )
}
