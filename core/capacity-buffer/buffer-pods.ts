import type { Pod } from '../objects.ts'
import type { SchedulingPlan } from '../scheduling/snapshot.ts'

/** Whether a pod exists only in plans, to keep room for a CapacityBuffer. */
export function isVirtual({ buffer }: Pick<Pod, 'buffer'>): boolean {
  return buffer !== undefined
}

/** Returns the pods that exist. */
export function realPods(pods: readonly Pod[]): readonly Pod[] {
  return pods.some(isVirtual) ? pods.filter((pod) => !isVirtual(pod)) : pods
}

/** Returns the buffers of virtual pods among these, each once. */
export function buffersOf(pods: readonly Pod[]): readonly string[] {
  return [...new Set(pods.flatMap(({ buffer }) => buffer ?? []))].sort()
}

/** Returns what a plan decides for pods that exist. Claims for virtual pods alone are not among its new ones. */
export function realPlan<P extends SchedulingPlan>(plan: P): P {
  const withReal = <T extends { readonly pods: readonly Pod[] }>(all: readonly T[]) =>
    all.flatMap((one) => {
      const pods = realPods(one.pods)
      return pods.length === 0 ? [] : [pods === one.pods ? one : { ...one, pods }]
    })
  return {
    ...plan,
    newNodeClaims: withReal(plan.newNodeClaims),
    existing: withReal(plan.existing),
    unschedulable: plan.unschedulable.filter(({ pod }) => !isVirtual(pod)),
    ...(plan.postponed === undefined ? {} : { postponed: realPods(plan.postponed) }),
  }
}
