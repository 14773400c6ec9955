import type { Node, Pod } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { defined } from '../../../core/values/defined.ts'
import { capacityTypeOf } from './azure/market.ts'
import type { NodeOwner, OwnedNode } from './cluster/node-owner.ts'

/** What the nodes of one pool cost. Prices are in USD an hour. */
export interface PoolBill {
  readonly kind: NodeOwner['kind']
  readonly name: string
  readonly nodes: number
  readonly spot: number
  /** Nodes by size, the most frequent first. */
  readonly sizes: readonly { readonly size: string; readonly nodes: number }[]
  readonly perHour: number
  /** Nodes whose price is not known, which count as nothing. */
  readonly unpriced: readonly string[]
  /** Share of what nodes can give that pods request; unset where nodes offer none. */
  readonly cpuRequested?: number
  readonly memoryRequested?: number
}

export interface Bill {
  readonly pools: readonly PoolBill[]
  readonly perHour: number
  readonly nodes: number
  readonly unpriced: number
}

interface Input {
  readonly nodes: readonly OwnedNode[]
  readonly podsOn: (node: string) => readonly Pod[]
  readonly priceOf: (node: Node) => number | undefined
}

/** Returns what each pool costs, the most expensive first. */
export function billOf(input: Input): Bill {
  const groups = Map.groupBy(input.nodes, ({ owner }) => `${owner.kind}/${owner.name}`)
  const pools = [...groups.values()].map((own) => poolBill(own, input)).toSorted((a, b) => b.perHour - a.perHour)
  return {
    pools,
    perHour: pools.reduce((sum, { perHour }) => sum + perHour, 0),
    nodes: input.nodes.length,
    unpriced: pools.reduce((sum, { unpriced }) => sum + unpriced.length, 0),
  }
}

function poolBill(own: readonly OwnedNode[], { podsOn, priceOf }: Input): PoolBill {
  const { kind, name } = own[0]?.owner ?? { kind: 'other', name: '' }
  const nodes = own.map(({ node }) => node)
  const prices = nodes.map((node) => priceOf(node))
  const sizes = [...Map.groupBy(nodes, ({ metadata }) => metadata.labels[labels.instanceType] ?? 'unknown')]
  const pods = nodes.flatMap(({ metadata }) => podsOn(metadata.name))
  const cpu = shareOf('cpu', nodes, pods)
  const memory = shareOf('memory', nodes, pods)
  return {
    kind,
    name,
    nodes: nodes.length,
    spot: nodes.filter(({ metadata }) => capacityTypeOf(metadata.labels) === 'spot').length,
    sizes: sizes.map(([size, all]) => ({ size, nodes: all.length })).toSorted((a, b) => b.nodes - a.nodes),
    perHour: prices.reduce<number>((sum, price = 0) => sum + price, 0),
    unpriced: nodes.filter((_, at) => prices[at] === undefined).map(({ metadata }) => metadata.name),
    ...defined({ cpuRequested: cpu, memoryRequested: memory }),
  }
}

function shareOf(resource: string, nodes: readonly Node[], pods: readonly Pod[]): number | undefined {
  const offered = nodes.reduce((sum, { allocatable }) => sum + (allocatable[resource]?.nano ?? 0n), 0n)
  if (offered <= 0n) return undefined
  const running = pods.filter(({ phase }) => phase !== 'Succeeded' && phase !== 'Failed')
  const requested = running.reduce((sum, { requests }) => sum + (requests[resource]?.nano ?? 0n), 0n)
  return Number((requested * 10_000n) / offered) / 10_000
}
