import type { Node, Pod } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { defined } from '../../../core/values/defined.ts'
import { takingPart } from '../../files/taking-part.ts'
import type { PriceSource } from '../../picture/prices.ts'
import { type ArmFacts, capacityTypeOf, type Market } from './azure/market.ts'
import { agentPoolsOf } from './cluster/agent-pools.ts'
import { type NodeOwner, type OwnedNode, ownedNodes, type Scaler, scalersOf } from './cluster/node-owner.ts'
import type { SeenCluster } from './cluster/read.ts'
import { type Proposal, proposalsFor } from './node-pools/propose.ts'
import { asJoiners } from './planner/as-joiners.ts'
import { type Holder, holdersOf, type Pass, readyCluster, type WaitingPods, waitingPods } from './planner/pass.ts'

/** What the report says. Prices are in USD an hour. */
export interface Advice {
  /** RFC 3339 time at which the cluster was read. */
  readonly at: string
  readonly server: string
  readonly region?: string
  readonly scalers: readonly Scaler[]
  readonly prices: PriceSource
  readonly bill: Bill
  /** What one consolidation pass would do; unset where it cannot be planned. */
  readonly pass?: Pass
  readonly holders: readonly Holder[]
  readonly waiting: readonly WaitingPods[]
  /** NodePools in place of agent pools; the estimate counts the nodes of these as theirs. */
  readonly nodePools: readonly Proposal[]
  /** What was not read, and why. */
  readonly unread: readonly string[]
  /** What a reader should know about the rest. */
  readonly remarks: readonly string[]
}

/** Everything that was read, and when. */
export interface AdviceInput {
  readonly seen: SeenCluster
  readonly arm: ArmFacts
  readonly market: Market
  readonly region: string | undefined
  /** Replaces the NodePools' disruption budgets. */
  readonly budget?: string
  /** Epoch ms. */
  readonly now: number
  /** Milliseconds, for limits of time. */
  readonly clock: () => number
}

/** Returns the report on a cluster. */
export function adviceOn({ seen, arm, market, region, budget, now, clock }: AdviceInput): Advice {
  const nodes = ownedNodes(seen.cluster)
  const podsByNode = Map.groupBy(seen.cluster.pods, ({ nodeName = '' }) => nodeName)
  const podsOn = (node: string): readonly Pod[] => podsByNode.get(node) ?? []
  const { priceOf } = market
  const pools = agentPoolsOf(nodes, {
    profiles: arm.cluster?.properties.agentPoolProfiles,
    region: region ?? '',
    ...(seen.autoscalerStatus === undefined ? {} : { status: seen.autoscalerStatus }),
  })
  const taken = [...seen.cluster.nodePools, ...seen.nodeClasses].map(({ metadata }) => metadata.name)
  const proposals = proposalsFor(pools, { sizes: market.sizes, taken: new Set(taken) })
  const at = new Date(now).toISOString()
  const base = {
    at,
    server: seen.server,
    ...(region === undefined ? {} : { region }),
    scalers: scalersOf({ seen, nodes, aks: arm.cluster }),
    prices: market.source,
    bill: billOf({ nodes, podsOn, priceOf }),
    nodePools: proposals,
    unread: [...seen.unread, ...arm.unread],
  }
  if (!seen.isPlannable) return { ...base, holders: [], waiting: [], remarks: market.remarks }
  const { areClaimsKnown } = seen
  const whole = asJoiners({ seen, owned: nodes, proposals, areClaimsKnown, now: at })
  const overlays = countedOverlays(seen)
  const part = takingPart(
    { ...whole, nodeOverlays: overlays.counted },
    { catalog: market.catalog, overrides: { nodeOverlay: true } },
  )
  const { ready, pass } = readyCluster(part, { now, priceOf, ...(budget === undefined ? {} : { budget }) })
  return {
    ...base,
    pass,
    holders: holdersOf(ready),
    waiting: waitingPods(ready, clock),
    remarks: [...market.remarks, ...overlays.remarks, ...part.remarks],
  }
}

/** An autoscaler whose gate NodeOverlay is on writes conditions on each; without them nobody counts them. */
function countedOverlays({ nodeOverlays = [] }: SeenCluster) {
  const counted = nodeOverlays.filter(({ conditions }) => conditions.length > 0)
  const others = nodeOverlays.length - counted.length
  const remark = `NodeOverlays without conditions do not count: ${others}; the gate NodeOverlay of the autoscaler seems to be off`
  return { counted, remarks: others === 0 ? [] : [remark] }
}

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

interface Bill {
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
function billOf(input: Input): Bill {
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
