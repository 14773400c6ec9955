import { conditionOf } from '../../../core/conditions.ts'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { taintKeys } from '../../../core/requirements/labels.ts'

/** Shortest time that a node is watched for pods that were bound at the last moment (reference/karpenter-core.md 5.5). */
const lateBindingMs = 5000

/** Returns for how many ms after `now` pods that were bound at the last moment may come to Nodes; none, when it is not above 0. */
export function bindingMs(claim: NodeClaim, nodes: readonly Node[], now: number): number {
  const since = (type: string) => Date.parse(conditionOf(claim.status.conditions, type)?.lastTransitionTime ?? '')
  // A disruption command taints the Node before it writes the reason.
  const wasTainted = nodes.every(({ taints }) => taints.some(({ key }) => key === taintKeys.disrupted))
  const times = [since('Drained'), ...(wasTainted ? [since('DisruptionReason')] : [])]
  return Math.min(...times.filter((time) => !Number.isNaN(time)), now) + lateBindingMs - now
}
