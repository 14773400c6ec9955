import type { Affinity, LabelSelector, Pod } from '../objects.ts'

/** Most constraints and preferences of a pod that is planned in its turn; pods with more are planned after all others. */
const mostTerms = 16
/** Values and expressions in them. */
const mostTexts = 512

const costs = new WeakMap<Pod, number>()

/**
 * Returns a pod's worst-case work for a pass, not its actual work. It is 1 for each constraint or preference that is counted or given up separately,
 * and 1 for 32 values in them.
 */
export function podCost(pod: Pod): number {
  let cost = costs.get(pod)
  if (cost === undefined) {
    const { terms, texts } = measured(pod)
    cost = terms + texts / (mostTexts / mostTerms)
    costs.set(pod, cost)
  }
  return cost
}

/** Whether a pod has so many constraints that it must not delay others. */
export function isHeavy(pod: Pod): boolean {
  return podCost(pod) > mostTerms
}

interface Size {
  readonly terms: number
  readonly texts: number
}

function measured({ affinity = {}, topologySpreadConstraints: spreads, nodeSelector }: Pod): Size {
  const [ofPods, ofNodes] = [podAffinitySize(affinity), nodeAffinitySize(affinity)]
  let texts = Object.keys(nodeSelector).length + ofPods.texts + ofNodes.texts
  for (const { labelSelector, matchLabelKeys = [] } of spreads) texts += textsOf(labelSelector) + matchLabelKeys.length
  return { terms: spreads.length + ofPods.terms + ofNodes.terms, texts }
}

function podAffinitySize({ podAffinity, podAntiAffinity }: Affinity): Size {
  let [terms, texts] = [0, 0]
  for (const kind of [podAffinity, podAntiAffinity]) {
    const preferred = (kind?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((one) => one.podAffinityTerm)
    for (const term of [...(kind?.requiredDuringSchedulingIgnoredDuringExecution ?? []), ...preferred]) {
      terms += 1
      texts += textsOf(term.labelSelector) + textsOf(term.namespaceSelector) + (term.namespaces?.length ?? 0)
    }
  }
  return { terms, texts }
}

function nodeAffinitySize({ nodeAffinity }: Affinity): Size {
  let [terms, texts] = [0, 0]
  const preferred = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  for (const { matchExpressions = [] } of [...required, ...preferred.map(({ preference }) => preference)]) {
    terms += 1
    for (const { values } of matchExpressions) texts += 1 + (values?.length ?? 0)
  }
  return { terms, texts }
}

function textsOf(selector: LabelSelector | undefined): number {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {}
  return (
    Object.keys(matchLabels).length + matchExpressions.reduce((sum, { values }) => sum + 1 + (values?.length ?? 0), 0)
  )
}
