import type { Affinity, Pod, Toleration, TopologySpreadConstraint } from '../objects.ts'

const anyPreferNoSchedule: Toleration = { operator: 'Exists', effect: 'PreferNoSchedule' }

/** Returns the pod with its next preference given up; undefined when only requirements are left (reference/karpenter-core.md 3.3). */
export function relax(pod: Pod, poolsPreferNoSchedule: boolean): Pod | undefined {
  return (
    withoutFirstRequiredTerm(pod) ??
    withoutHeaviest(pod, 'podAffinity') ??
    withoutHeaviest(pod, 'podAntiAffinity') ??
    withoutHeaviest(pod, 'nodeAffinity') ??
    withoutScheduleAnyway(pod) ??
    (poolsPreferNoSchedule ? withPreferNoScheduleTolerated(pod) : undefined)
  )
}

const withAffinity = (pod: Pod, affinity: Affinity): Pod => ({ ...pod, affinity: { ...pod.affinity, ...affinity } })

function withoutFirstRequiredTerm(pod: Pod): Pod | undefined {
  const nodeAffinity = pod.affinity?.nodeAffinity
  const terms = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  if (terms.length < 2) return undefined
  const required = { nodeSelectorTerms: terms.slice(1) }
  return withAffinity(pod, {
    nodeAffinity: { ...nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: required },
  })
}

function withoutHeaviest(pod: Pod, kind: 'podAffinity' | 'podAntiAffinity' | 'nodeAffinity'): Pod | undefined {
  const terms = pod.affinity?.[kind]?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  if (terms.length === 0) return undefined
  const heaviest = Math.max(...terms.map(({ weight }) => weight))
  const at = terms.findIndex(({ weight }) => weight === heaviest)
  const left = terms.filter((_, index) => index !== at)
  return withAffinity(pod, {
    [kind]: { ...pod.affinity?.[kind], preferredDuringSchedulingIgnoredDuringExecution: left },
  })
}

function withoutScheduleAnyway(pod: Pod): Pod | undefined {
  const at = pod.topologySpreadConstraints.findIndex(({ whenUnsatisfiable }) => whenUnsatisfiable === 'ScheduleAnyway')
  if (at < 0) return undefined
  // The last one takes its place.
  const left = [...pod.topologySpreadConstraints]
  const last = left.pop() as TopologySpreadConstraint
  if (at < left.length) left[at] = last
  return { ...pod, topologySpreadConstraints: left }
}

function withPreferNoScheduleTolerated(pod: Pod): Pod | undefined {
  const has = pod.tolerations.some(
    ({ key, operator, effect }) => !key && operator === 'Exists' && effect === 'PreferNoSchedule',
  )
  return has ? undefined : { ...pod, tolerations: [...pod.tolerations, anyPreferNoSchedule] }
}
