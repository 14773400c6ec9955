import type { InstanceType } from '../instance-type.ts'
import type { ContainerPort, Pod, Taint } from '../objects.ts'
import type { DaemonSet } from '../pods/related-objects.ts'
import { isCompatible, podRequirements, type Requirements, sharedKeysIntersect } from '../requirements/requirements.ts'
import { mergeResources, noResources, type Resources } from '../resources.ts'
import { untolerated } from '../taints.ts'

/** Whether a DaemonSet's pod goes to a node of these labels and taints. PreferNoSchedule does not stop a daemon. */
export function daemonRunsOn(pod: Pod, node: Requirements, taints: readonly Taint[]): boolean {
  return (
    pod.resourceClaims.length === 0 &&
    toleratesHard(pod, taints) &&
    requiredAlternatives(pod).some((wanted) => isCompatible(node, wanted))
  )
}

function toleratesHard(pod: Pod, taints: readonly Taint[]): boolean {
  const hard = taints.filter(({ effect }) => effect !== 'PreferNoSchedule')
  return untolerated(hard, pod.tolerations).length === 0
}

/** Instance types of a pool that carry the same daemons. */
export interface DaemonGroup {
  readonly types: readonly InstanceType[]
  /** Requests of the daemons; empty when there are none. */
  readonly overhead: Resources
  readonly hostPorts: readonly ContainerPort[]
}

/** Returns the types by the daemons that fit them (reference/karpenter-core.md 3.7). */
export function daemonGroups(
  types: readonly InstanceType[],
  template: { readonly requirements: Requirements; readonly taints: readonly Taint[] },
  { daemonSets, wellKnown }: { readonly daemonSets: readonly DaemonSet[]; readonly wellKnown: ReadonlySet<string> },
): readonly DaemonGroup[] {
  const daemons = daemonSets
    .map(({ pod }) => pod)
    .filter((pod) => pod.resourceClaims.length === 0 && toleratesHard(pod, template.taints))
  const terms = new Map(daemons.map((pod) => [pod, [...requiredAlternatives(pod)]]))
  const fits = (wanted: Requirements, type: InstanceType) =>
    isCompatible(template.requirements, wanted, wellKnown) && sharedKeysIntersect(type.requirements, wanted)
  const runs = (pod: Pod, type: InstanceType) => {
    const left = terms.get(pod) ?? []
    // As upstream, a term that one type does not meet is not tried on later ones; the order by name is ours.
    while (left.length > 1 && !fits(left[0] as Requirements, type)) left.shift()
    return left[0] !== undefined && fits(left[0], type)
  }
  const groups = new Map<string, { types: InstanceType[]; own: readonly Pod[] }>()
  for (const type of [...types].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const fitting = daemons.map((pod) => runs(pod, type))
    const key = fitting.join()
    const group = groups.get(key) ?? { types: [], own: daemons.filter((_, index) => fitting[index]) }
    groups.set(key, group)
    group.types.push(type)
  }
  return [...groups.values()].map(({ types: same, own }) => ({
    types: same,
    overhead: own.length === 0 ? noResources : mergeResources(...own.map(({ requests }) => requests)),
    hostPorts: own.flatMap(({ hostPorts }) => hostPorts),
  }))
}

/** Returns a pod's strict requirements, once for each of its required node affinity terms. */
function requiredAlternatives(pod: Pod): readonly Requirements[] {
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
