import type { ConditionChange } from '../conditions.ts'
import type { Node, NodeClaim } from '../objects.ts'
import { formatQuantity } from '../values/quantity.ts'
import { entryOf } from '../values/records.ts'

/** A node with less than this share of its claim's promise does not match its planned pods. */
const leastPercent = 90

/** Returns the requested resources of which a Node has less than its claim promised (reference/karpenter-core.md 5.2). */
export function shortfalls({ spec, status }: NodeClaim, node: Node): readonly string[] {
  return Object.keys(spec.requests)
    .sort()
    .flatMap((name) => {
      const expected = entryOf(status.capacity, name)
      if (expected === undefined || expected.nano === 0n) return []
      const found = entryOf(node.capacity, name)
      const percent = Number(((found?.nano ?? 0n) * 10_000n) / expected.nano) / 100
      if (percent >= leastPercent) return []
      const amount = found === undefined ? '0' : formatQuantity(found)
      return [
        `expected ${formatQuantity(expected)} of resource ${name}, but found ${amount} (${percent.toFixed(1)}% of expected)`,
      ]
    })
}

/** Returns the conditions of a claim whose Node can take pods: that it has what was promised is compared at once, and what is missing is reported later. */
export function initializedConditions(claim: NodeClaim, node: Node): readonly ConditionChange[] {
  const isConsistent = shortfalls(claim, node).length === 0
  const found = isConsistent ? [{ type: 'ConsistentStateFound', status: 'True' } as const] : []
  return [{ type: 'Initialized', status: 'True' }, ...found]
}
