import type { Pod } from '../../../../../core/objects.ts'
import { hostPortConflict } from '../../../../../core/pods/host-ports.ts'
import { fits } from '../../../../../core/resources.ts'
import { tolerates, untolerated } from '../../../../../core/taints.ts'
import { hasNodeAffinity } from './node-affinity.ts'
import type { Place, Places } from './places.ts'
import { affinityRefusal, spreadRefusal } from './topology.ts'
import type { Volumes } from './volumes.ts'

const unschedulable = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' } as const

/** Why a pod has no room in a place, in kube-scheduler's words; empty: it has. The first filter that refuses is the one that speaks. */
export function refusals(
  pod: Pod,
  place: Place,
  { places, volumes }: { readonly places: Places; readonly volumes: Volumes },
): readonly string[] {
  const { node, pods, free } = place
  if (node.unschedulable && !pod.tolerations.some((toleration) => tolerates(toleration, unschedulable)))
    return ['node(s) were unschedulable']
  const hard = node.taints.filter(({ effect }) => effect !== 'PreferNoSchedule')
  if (untolerated(hard, pod.tolerations).length > 0) return ['node(s) had untolerated taint(s)']
  if (!hasNodeAffinity(pod, node)) return ["node(s) didn't match Pod's node affinity/selector"]
  if (
    hostPortConflict(
      pods.flatMap(({ hostPorts }) => hostPorts),
      pod.hostPorts,
    ) !== undefined
  )
    return ["node(s) didn't have free ports for the requested pod ports"]
  if (!fits(pod.requests, free)) return missing(pod, place)
  const refusal =
    volumes.refusal(pod, place, places) ?? spreadRefusal(pod, place, places) ?? affinityRefusal(pod, place, places)
  return refusal === undefined ? [] : [refusal]
}

function missing({ requests }: Pod, { free }: Place): readonly string[] {
  return Object.entries(requests)
    .filter(([name, amount]) => !fits({ [name]: amount }, free))
    .map(([name]) => (name === 'pods' ? 'Too many pods' : `Insufficient ${name}`))
}
