import { holdOf } from '../node-claim/hold.ts'
import { repairState } from '../node-repair/node-repair.ts'
import { protectedUntil } from '../pods/do-not-disrupt.ts'
import { isActive } from '../pods/pod-rules.ts'
import { labels } from '../requirements/labels.ts'
import type { DisruptionView } from './candidates.ts'
import { consolidatableAt } from './consolidatable.ts'

/**
 * Returns when time alone next makes a node eligible, in epoch ms: at the end of its consolidateAfter, a pod's protection, a hold, or what is
 * tolerated of a sick node.
 */
export function nextChange({ nodes, nodePools, podsOn, now, repairs = [] }: DisruptionView): number | undefined {
  let next: number | undefined
  const see = (time: number | undefined) => {
    if (time !== undefined && time > now && (next === undefined || time < next)) next = time
  }
  for (const { node, claim } of nodes) {
    if (node === undefined || claim === undefined) continue
    const pool = nodePools.get(claim.metadata.labels[labels.nodePool] ?? '')
    if (pool !== undefined) see(consolidatableAt(claim, pool))
    see(holdOf(claim, now)?.untilMs)
    const repair = repairs.length === 0 ? undefined : repairState({ node, claim, now }, repairs)
    if (repair?.kind === 'tolerated') see(repair.untilMs)
    for (const pod of podsOn(node.metadata.name)) if (isActive(pod)) see(protectedUntil(pod))
  }
  return next
}
