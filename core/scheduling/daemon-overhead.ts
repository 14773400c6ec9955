import { wellKnownLabels } from '../labels.ts'
import type { DaemonSet, Pod, Taint } from '../objects.ts'
import { isCompatible, podRequirements, type Requirements } from '../requirements.ts'
import { untolerated } from '../taints.ts'

/** Whether a DaemonSet's pod goes to a node of these labels and taints. What only prefers not to have pods does not stop a daemon. */
export function daemonRunsOn(
  pod: Pod,
  node: Requirements,
  taints: readonly Taint[],
  allowUndefined?: ReadonlySet<string>,
): boolean {
  const hard = taints.filter(({ effect }) => effect !== 'PreferNoSchedule')
  if (untolerated(hard, pod.tolerations).length > 0) return false
  return requiredAlternatives(pod).some((wanted) => isCompatible(node, wanted, allowUndefined))
}

/** The daemons that a pool's nodes may carry (reference/karpenter-core.md 3.7). */
export function daemonsOf(
  daemonSets: readonly DaemonSet[],
  template: Requirements,
  taints: readonly Taint[],
): readonly Pod[] {
  return daemonSets.map(({ pod }) => pod).filter((pod) => daemonRunsOn(pod, template, taints, wellKnownLabels))
}

/** What a pod requires strictly, once for each of its required node affinity terms. */
export function requiredAlternatives(pod: Pod): readonly Requirements[] {
  const terms = pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  if (terms.length < 2) return [podRequirements(pod, { strict: true })]
  return terms.map((term) =>
    podRequirements(
      {
        nodeSelector: pod.nodeSelector,
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } },
      },
      { strict: true },
    ),
  )
}
