import type { Node, NodeClaim } from '../objects.ts'
import { formatQuantity } from '../values/quantity.ts'
import { entryOf } from '../values/records.ts'

/** A node that has less than this of what its claim promised is not what pods were planned on. */
const leastPercent = 90

/** What a Node falls short of, of what its claim promised for each requested resource (reference/karpenter-core.md 5.2). */
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
