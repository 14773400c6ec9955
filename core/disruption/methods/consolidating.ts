// Shared checks of the methods that save money (reference/karpenter-core.md 4.5).
import { labels } from '../../requirements/labels.ts'
import { durationMs } from '../../values/duration.ts'
import { type Candidate, isEmpty } from '../candidates.ts'
import { type FilterSettings, isConsolidatable } from '../filters.ts'
import type { Cause } from '../verdicts/cause.ts'
import { type Explanation, notLookedAt, type Suitability, type Unnoted, unsuitable } from './method.ts'

/** Whether the node's pods could move to save money. */
export function suitsUnderutilized(candidate: Candidate, settings: FilterSettings): Suitability {
  const { node, nodePool, instanceType } = candidate
  if (nodePool.isStatic) return false
  const own = node.metadata.labels
  if (instanceType === undefined) return { kind: 'unknown-instance-type', instanceType: own[labels.instanceType] ?? '' }
  for (const label of [labels.capacityType, labels.zone])
    if (own[label] === undefined) return { kind: 'no-label', label }
  if (isDisabled(candidate)) return disabled(candidate)
  // Emptiness takes those nodes, so that budgets for the reason Empty apply to them.
  if (isEmpty(candidate)) return false
  if (nodePool.disruption.consolidationPolicy === 'WhenEmpty')
    return { kind: 'only-when-empty', nodePool: nodePool.metadata.name }
  return isConsolidatable(candidate, settings)
}

export function isDisabled({ nodePool }: Candidate): boolean {
  return durationMs(nodePool.disruption.consolidateAfter) === undefined
}

export function disabled({ nodePool }: Candidate): Cause {
  return { kind: 'consolidation-disabled', nodePool: nodePool.metadata.name }
}

/** Returns why no consolidating method applies to the node; undefined when they do. */
export function notConsolidated({ claim, nodePool, asked }: Unnoted): Explanation | undefined {
  if (nodePool?.isStatic === true) return unsuitable({ kind: 'static-pool-not-consolidated' })
  if (isConsolidatable({ nodeClaim: claim }, asked)) return undefined
  return unsuitable({ kind: 'not-consolidatable', consolidateAfter: nodePool?.disruption.consolidateAfter ?? '' })
}

/** `alone`: the cause for a node that was skipped, when no other cause is known. */
export function explainUnderutilized(node: Unnoted, alone: Cause): Explanation {
  const excluded = notConsolidated(node)
  if (excluded !== undefined) return excluded
  if (node.isEmpty) return unsuitable({ kind: 'empty' })
  return notLookedAt(node.foundOthers ? { kind: 'other-nodes-first' } : alone)
}
