import type { Pod } from '../../../core/objects.ts'
import { takingPart } from '../../files/taking-part.ts'
import type { ArmFacts, Market, PriceSource } from './azure/market.ts'
import { type Bill, billOf } from './bill.ts'
import { agentPoolsOf } from './cluster/agent-pools.ts'
import { ownedNodes, type Scaler, scalersOf } from './cluster/node-owner.ts'
import type { SeenCluster } from './cluster/read.ts'
import { type Proposal, proposalsFor } from './node-pools/propose.ts'
import { asJoiners } from './planner/as-joiners.ts'
import { type Holder, holdersOf, type Pass, readyCluster } from './planner/pass.ts'
import { type WaitingPods, waitingPods } from './planner/waiting.ts'

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
