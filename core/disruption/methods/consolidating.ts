// What the methods that save money ask alike (reference/karpenter-core.md 4.5).
import { labels } from '../../requirements/labels.ts'
import { durationMs } from '../../values/duration.ts'
import { type Candidate, isEmpty } from '../candidates.ts'
import { type FilterSettings, isConsolidatable } from '../filters.ts'
import { type Explanation, notLookedAt, type Suitability, type Unnoted, unsuitable } from './method.ts'

/** Whether the node's pods could move to save money. */
export function suitsUnderutilized(candidate: Candidate, settings: FilterSettings): Suitability {
  const { node, nodePool, instanceType } = candidate
  if (nodePool.isStatic) return false
  const own = node.metadata.labels
  if (instanceType === undefined) return `Instance Type "${own[labels.instanceType] ?? ''}" not found`
  for (const key of [labels.capacityType, labels.zone])
    if (own[key] === undefined) return `Node does not have label "${key}"`
  if (isDisabled(candidate)) return disabledText(candidate)
  // Emptiness takes those, so that budgets for the reason Empty hold for them.
  if (isEmpty(candidate)) return false
  if (nodePool.disruption.consolidationPolicy === 'WhenEmpty')
    return `NodePool "${nodePool.metadata.name}" has consolidation policy WhenEmpty, but node is not empty`
  return isConsolidatable(candidate, settings)
}

export function isDisabled({ nodePool }: Candidate): boolean {
  return durationMs(nodePool.disruption.consolidateAfter) === undefined
}

export function disabledText({ nodePool }: Candidate): string {
  return `NodePool "${nodePool.metadata.name}" has consolidation disabled`
}

/** Why no method that saves money is about the node; undefined: they are. */
export function notConsolidated({ claim, nodePool, asked }: Unnoted): Explanation | undefined {
  if (nodePool?.isStatic === true) return unsuitable('NodePools with replicas are not consolidated')
  if (isConsolidatable({ nodeClaim: claim }, asked)) return undefined
  const after = nodePool?.disruption.consolidateAfter ?? ''
  return unsuitable(`not consolidatable yet: no pod may have come or gone for consolidateAfter (${after})`)
}

/** `alone`: why a node is not looked at of which nothing else is known. */
export function explainUnderutilized(node: Unnoted, alone: string): Explanation {
  const excluded = notConsolidated(node)
  if (excluded !== undefined) return excluded
  if (node.isEmpty) return unsuitable('the node is empty, so it is a matter of emptiness')
  return notLookedAt(node.foundOthers ? 'other nodes go first; a later evaluation comes to this one' : alone)
}
