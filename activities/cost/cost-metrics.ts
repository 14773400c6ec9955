import type { CostRate } from '../../core/cost/meter.ts'
import { namespaceOf } from '../../core/cost/slice.ts'
import { type GaugeFamily, labelPairs, labelText } from '../telemetry/gauge-family.ts'

/** Most namespaces with a series of their own. */
const mostNamespaces = 100
const otherNamespaces = '(other)'

/** Gauges of what nodes cost an hour at the moment, of the process that plans. */
export function costGauges(rateNow: () => CostRate | undefined): readonly GaugeFamily[] {
  let known: CostRate | undefined
  const rate = () => {
    known ??= rateNow()
    return known
  }
  const perPool = (name: string, help: string, amount: (pool: CostRate['pools'][number]) => number): GaugeFamily => ({
    name,
    help,
    *samples() {
      for (const pool of rate()?.pools ?? []) {
        const { nodePool: nodepool, capacityType: capacity_type } = pool
        yield [labelText(labelPairs({ nodepool, capacity_type })), amount(pool)] as const
      }
    },
  })
  return [
    perPool('joiner_cost_usd_per_hour', 'Price of the nodes of a NodePool in USD an hour.', ({ usd }) => usd),
    perPool(
      'joiner_cost_idle_usd_per_hour',
      'The part of that price that no pod requested, in USD an hour.',
      ({ idle }) => idle,
    ),
    {
      name: 'joiner_cost_namespace_usd_per_hour',
      help: 'The share of a namespace in the price of its nodes, in USD an hour; the smallest ones are (other).',
      *samples() {
        for (const [namespace, usd] of byNamespace(rate()?.workloads ?? new Map()))
          yield [labelText(labelPairs({ namespace })), usd] as const
      },
    },
  ]
}

function byNamespace(workloads: ReadonlyMap<string, number>): Iterable<readonly [string, number]> {
  const sums = new Map<string, number>()
  for (const [workload, usd] of workloads) {
    const namespace = namespaceOf(workload)
    sums.set(namespace, (sums.get(namespace) ?? 0) + usd)
  }
  if (sums.size <= mostNamespaces) return sums
  const sorted = [...sums].toSorted(([, a], [, b]) => b - a)
  const rest = sorted.slice(mostNamespaces).reduce((total, [, usd]) => total + usd, 0)
  return [...sorted.slice(0, mostNamespaces), [otherNamespaces, rest]]
}
