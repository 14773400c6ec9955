import type { Pod } from '../../../../core/objects.ts'
import { isProvisionable, podName } from '../../../../core/pods/pod-rules.ts'
import { funnelTexts } from '../../../../core/scheduling/explain/funnel.ts'
import { explainedPlan } from '../../../../core/scheduling/schedule.ts'
import { unschedulableWords } from '../../../../core/scheduling/unschedulable-text.ts'
import type { ReadyCluster } from './pass.ts'

const mostClasses = 20
const mostNames = 5
const limitMs = 20_000

/** Pods that wait for the same reason, or for which the same would be done. */
export interface WaitingPods {
  readonly outcome: 'unschedulable' | 'new node' | 'existing node' | 'not tried'
  readonly count: number
  /** `namespace/name` of the first few. */
  readonly pods: readonly string[]
  readonly finding: string
  /** What was left of each NodePool's instance types after each question, a line each. */
  readonly funnel: readonly string[]
}

/** Returns what Joiner would do about pods that wait for a node, and why about some it could do nothing. `clock`: ms. */
export function waitingPods({ decision }: ReadyCluster, clock: () => number): readonly WaitingPods[] {
  const snapshot = decision.snapshot()
  const tried = snapshot.pods.filter(isProvisionable).length + (snapshot.ignored?.size ?? 0)
  if (tried === 0) return []
  const startedAt = clock()
  const shouldStop = () => clock() - startedAt > limitMs
  const { plan, podFunnels } = explainedPlan(snapshot, { ...decision.settings.scheduling, shouldStop })
  const failed = plan.unschedulable.filter(({ pod }) => isProvisionable(pod))
  const byText = Map.groupBy(failed, ({ cause }) => unschedulableWords(cause))
  const unschedulable = [...byText].map(([finding, all]): WaitingPods => {
    const [first] = all
    return {
      ...named(all.map(({ pod }) => pod)),
      outcome: 'unschedulable',
      finding,
      funnel: first === undefined ? [] : podFunnels(first.pod).flatMap(funnelTexts),
    }
  })
  const coming = [...Map.groupBy(plan.newNodeClaims, ({ nodePool }) => nodePool)].flatMap(([pool, claims]) => {
    const price = claims.reduce((sum, claim) => sum + claim.price, 0)
    const finding = `${claims.length} new of NodePool ${pool}, from USD ${price.toFixed(3)} an hour`
    return outcome(
      'new node',
      claims.flatMap(({ pods }) => pods),
      finding,
    )
  })
  const rest = new Set(plan.stopped || plan.postponed ? snapshot.pods.filter(isProvisionable) : [])
  for (const pod of [
    ...failed.map(({ pod }) => pod),
    ...plan.newNodeClaims.flatMap(({ pods }) => pods),
    ...plan.existing.flatMap(({ pods }) => pods),
  ])
    rest.delete(pod)
  return [
    ...unschedulable.toSorted((a, b) => b.count - a.count).slice(0, mostClasses),
    ...coming,
    ...outcome(
      'existing node',
      plan.existing.flatMap(({ pods }) => pods),
      'they fit on nodes that are there',
    ),
    ...outcome('not tried', [...rest], 'they have so many constraints that there was no time for them'),
  ]
}

function outcome(kind: WaitingPods['outcome'], all: readonly Pod[], finding: string): readonly WaitingPods[] {
  const pods = all.filter(isProvisionable)
  return pods.length === 0 ? [] : [{ ...named(pods), outcome: kind, finding, funnel: [] }]
}

function named(pods: readonly Pod[]): Pick<WaitingPods, 'count' | 'pods'> {
  return { count: pods.length, pods: pods.map(podName).toSorted().slice(0, mostNames) }
}
