import {
  addQuantity,
  compareQuantity,
  formatQuantity,
  integerQuantity,
  type Quantity,
  zero,
} from '../../values/quantity.ts'
import { entryOf } from '../../values/records.ts'
import type { Bits } from '../offerings/bits.ts'
import type { PoolIndex } from '../offerings/pool-index.ts'
import { typesOf } from './funnel-types.ts'

/** Returns the command that raises the limits of a NodePool so far that the smallest of these types is within them. */
export function limitAdvice(pool: PoolIndex, types: Bits): readonly string[] {
  const { nodePool, usage } = pool.option
  const found = typesOf(pool, types)
  const needed = (name: string): Quantity => {
    if (name === 'nodes') return integerQuantity(1)
    const [smallest = zero] = found.map(({ capacity }) => entryOf(capacity, name) ?? zero).sort(compareQuantity)
    return smallest
  }
  const raised = Object.keys(nodePool.limits)
    .sort()
    .flatMap((name) => {
      const limit = entryOf(nodePool.limits, name) ?? zero
      const enough = addQuantity(entryOf(usage, name) ?? zero, needed(name))
      return compareQuantity(enough, limit) > 0 ? [[name, formatQuantity({ ...enough, format: limit.format })]] : []
    })
  if (raised.length === 0)
    return [
      `raise ${Object.keys(nodePool.limits)
        .sort()
        .map((name) => `spec.limits.${name}`)
        .join(', ')} of NodePool "${pool.name}": new nodes have taken what was left`,
    ]
  const patch = JSON.stringify({ spec: { limits: Object.fromEntries(raised) } })
  return [`raise the limits: kubectl patch nodepool ${pool.name} --type merge --patch '${patch}'`]
}
