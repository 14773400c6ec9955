import type { Affinity, Pod, Toleration } from '../objects.ts'

const anyPreferNoSchedule: Toleration = { operator: 'Exists', effect: 'PreferNoSchedule' }

/**
 * The pod with the next of its wishes given up; undefined when only what is required is left (reference/karpenter-core.md 3.3).
 * Preferred pod affinity is not looked at when placing, so it needs no step.
 */
export function relax(pod: Pod, poolsPreferNoSchedule: boolean): Pod | undefined {
  return (
    withoutFirstRequiredTerm(pod) ??
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

function withoutHeaviest(pod: Pod, kind: 'podAntiAffinity' | 'nodeAffinity'): Pod | undefined {
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
  return { ...pod, topologySpreadConstraints: pod.topologySpreadConstraints.filter((_, index) => index !== at) }
}

function withPreferNoScheduleTolerated(pod: Pod): Pod | undefined {
  const has = pod.tolerations.some(
    ({ key, operator, effect }) => !key && operator === 'Exists' && effect === 'PreferNoSchedule',
  )
  return has ? undefined : { ...pod, tolerations: [...pod.tolerations, anyPreferNoSchedule] }
}
