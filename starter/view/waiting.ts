import type { WaitingClass } from '../../core/scheduling/explain/waiting-classes.ts'
import type { PodFact } from './facts.ts'

/** Most classes, and most names of a class. */
const mostClasses = 50
const mostNames = 5

/**
 * Returns why pods wait, the largest classes first: what the planner found, for pods that still wait; else what kube-scheduler said of them.
 */
export function pendingClasses(
  waiting: ReadonlyMap<string, PodFact>,
  found: readonly WaitingClass[] = [],
): readonly WaitingClass[] {
  const planned = found.filter(({ pods }) => pods.some((pod) => waiting.has(pod)))
  if (planned.length > 0) return bySize(planned)
  const groups = Map.groupBy(
    [...waiting.values()].flatMap(({ key, wait }) => (wait === undefined ? [] : [{ key, ...wait }])),
    ({ reason, message }) => `${reason}\n${message}`,
  )
  return bySize([...groups.values()].map((pods) => schedulerClass(pods)))
}

function schedulerClass(
  pods: readonly {
    readonly key: string
    readonly sinceMs: number
    readonly reason: string
    readonly message: string
  }[],
): WaitingClass {
  const { reason = '', message = '' } = pods[0] ?? {}
  return {
    state: reason === 'Unschedulable' ? 'unschedulable' : 'held',
    pods: pods
      .map(({ key }) => key)
      .sort()
      .slice(0, mostNames),
    count: pods.length,
    sinceMs: pods.reduce((first, { sinceMs }) => Math.min(first, sinceMs), Number.POSITIVE_INFINITY),
    plannedOn: [],
    finding: message || reason || 'kube-scheduler has not tried it yet',
    funnel: [],
    remedies: [],
  }
}

function bySize(classes: readonly WaitingClass[]): readonly WaitingClass[] {
  return classes
    .toSorted((a, b) => b.count - a.count || ((a.pods[0] ?? '') < (b.pods[0] ?? '') ? -1 : 1))
    .slice(0, mostClasses)
}
