import type { Pod } from '../../objects.ts'
import { podName } from '../../pods/pod-rules.ts'
import { shortened } from '../../values/texts.ts'

/** Why one pod waits. Pods of the same `likeness` and state are a class. */
export interface Standing extends Pick<WaitingClass, 'state' | 'cause' | 'finding' | 'funnel' | 'remedies'> {
  readonly pod: Pod
  /** The same for pods that the planner treats alike. */
  readonly likeness: string
  /** Name of the NodeClaim or Node that it is planned on. */
  readonly plannedOn?: string
}

/** Number of pods that wait in a state for a cause. */
export interface WaitingCount {
  readonly state: WaitingClass['state']
  readonly cause?: WaitingCause
  readonly count: number
}

/** Pods that wait: classes by their keys, and the number of all, also of those in classes that are left out. */
export interface WaitingPods {
  readonly classes: ReadonlyMap<string, WaitingClass>
  readonly counts: readonly WaitingCount[]
}

export const noWaitingPods: WaitingPods = { classes: new Map(), counts: [] }

/** ConfigMap in Joiner's namespace with what planners found about waiting pods. */
export const waitingMapName = 'joiner-waiting-pods'

const mostClasses = 100
const mostPods = 10
const mostPlaces = 5
const mostText = 500

/** Returns the key of a class. `why pod` finds the class of a pod by it. */
export function waitingKey(likeness: string, state: WaitingClass['state']): string {
  return `${likeness}.${state}`
}

/** Groups pods. Those that nothing is planned for come first, then the larger classes; the rest is only counted. */
export function waitingPods(standings: readonly Standing[]): WaitingPods {
  const groups = Map.groupBy(standings, ({ likeness, state }) => waitingKey(likeness, state))
  const classes = [...groups].map(([key, group]) => [key, classOf(group)] as const)
  const rank = ({ state }: WaitingClass) => Number(state === 'planned')
  classes.sort(([a, one], [b, other]) => rank(one) - rank(other) || other.count - one.count || (a < b ? -1 : 1))
  return { classes: new Map(classes.slice(0, mostClasses)), counts: countsOf(standings) }
}

function classOf(group: readonly Standing[]): WaitingClass {
  const byName = [...group].sort((a, b) => (podName(a.pod) < podName(b.pod) ? -1 : 1))
  const { state, cause, finding, funnel, remedies } = byName[0] as Standing
  const places = [...new Set(byName.flatMap(({ plannedOn }) => plannedOn ?? []))].sort()
  const more = places.length - 1
  return {
    state,
    ...(cause === undefined ? {} : { cause }),
    pods: byName.slice(0, mostPods).map(({ pod }) => podName(pod)),
    count: group.length,
    sinceMs: group.reduce(
      (first, { pod }) => Math.min(first, Date.parse(pod.metadata.creationTimestamp)),
      Number.POSITIVE_INFINITY,
    ),
    plannedOn: places.slice(0, mostPlaces),
    finding: shortened(`${finding}${more > 0 ? `; others of them are planned on ${more} more` : ''}`, mostText),
    funnel,
    remedies: remedies.map((remedy) => shortened(remedy, mostText)),
  }
}

function countsOf(standings: readonly Standing[]): readonly WaitingCount[] {
  const groups = Map.groupBy(standings, ({ state, cause = '' }) => `${state} ${cause}`)
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, group]) => {
      const { state, cause } = group[0] as Standing
      return { state, ...(cause === undefined ? {} : { cause }), count: group.length }
    })
}

/** Why pods of a class wait. `metric` values of `joiner_pending_pods{state,cause}` are these names. */
export const waitingCauses = [
  'too-big',
  'requirements',
  'taints',
  'limits',
  'quota',
  'capacity',
  'volume',
  'topology',
  'node-pools',
  'paused',
  'refused',
  'kube-scheduler',
  'other',
] as const
export type WaitingCause = (typeof waitingCauses)[number]

/** Pods that are alike for the planner, and why they wait. `core` makes it, a ConfigMap keeps it, `why pod`, `status` and the page show it. */
export interface WaitingClass {
  /** `planned`: a NodeClaim or Node is meant for them. `unschedulable`: nothing is. `held`: planning is paused or they are tried later. */
  readonly state: 'planned' | 'unschedulable' | 'held'
  readonly cause?: WaitingCause
  /** `namespace/name`; the first few. */
  readonly pods: readonly string[]
  readonly count: number
  /** Epoch ms: when the oldest of them was created. */
  readonly sinceMs: number
  /** Names of NodeClaims or Nodes that they are planned on; the first few. */
  readonly plannedOn: readonly string[]
  /** What the planner found, a sentence. */
  readonly finding: string
  /** The funnel of each NodePool, a line each. */
  readonly funnel: readonly string[]
  /** What helps, a sentence each, the best first. */
  readonly remedies: readonly string[]
}
