import type { InstanceType } from '../instance-type.ts'
import type { ContainerPort, Pod, Taint } from '../objects.ts'
import { isCompatible, podRequirements, type Requirements } from '../requirements/requirements.ts'
import type { Resources } from '../resources.ts'
import { untolerated } from '../taints.ts'

/** Whether a DaemonSet's pod goes to a node of these labels and taints. PreferNoSchedule does not stop a daemon. */
export function daemonRunsOn(pod: Pod, node: Requirements, taints: readonly Taint[]): boolean {
  return (
    pod.resourceClaims.length === 0 &&
    toleratesHard(pod, taints) &&
    requiredAlternatives(pod).some((wanted) => isCompatible(node, wanted))
  )
}

/** Whether a pod tolerates what keeps daemons away. */
export function toleratesHard(pod: Pod, taints: readonly Taint[]): boolean {
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

/** Returns a pod's strict requirements, once for each of its required node affinity terms. */
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
