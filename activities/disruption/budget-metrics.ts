import { Gauge, type Registry } from 'prom-client'
import { allowedDisruptions } from '../../core/disruption/budgets/budgets.ts'
import { budgetUses } from '../../core/disruption/candidates.ts'
import { methodFacts } from '../../core/disruption/command.ts'
import type { Node, NodeClaim, NodePool } from '../../core/objects.ts'
import { pausableReasons } from '../../core/pauses/pauses.ts'
import { labels } from '../../core/requirements/labels.ts'
import { labelsOf, stateNodes } from '../../core/scheduling/state-nodes.ts'
import { stampOf } from '../kubernetes/commands/command-objects.ts'
import { commandMethod } from './proposals.ts'

/** The part of the watch cache that the gauges read, as it is at that moment. */
interface ObservedCluster {
  readonly nodes: { values(): Iterable<Node> }
  readonly nodeClaims: { values(): Iterable<NodeClaim> }
  readonly nodePools: { values(): Iterable<NodePool> }
}

const labelNames = ['nodepool', 'reason'] as const

/**
 * Publishes what each pool's budgets allow in all for each reason, and how many nodes use of it, computed on each scrape. Upstream refreshes a
 * reason only while it has candidates (reference/karpenter-core.md 6.1); here the numbers are always current.
 */
export function observeBudgets(
  cluster: ObservedCluster,
  { now, isReported }: { readonly now: () => number; readonly isReported: () => boolean },
  registry: Registry,
): void {
  gauge(
    'karpenter_nodepools_allowed_disruptions',
    'Nodes that the budgets of a NodePool let be disrupted at once, those that are already included.',
    ({ pool, nodes }, reason) =>
      allowedDisruptions({ budgets: pool.disruption.budgets, nodes, reason, now: now() }).allowed,
  )
  gauge(
    'karpenter_nodepools_nodes_consuming_budgets',
    'Nodes of a NodePool that are being disrupted or deleted, or are not ready, and so use up its budgets.',
    ({ consuming, consumingRepairs }, reason) => (reason === 'Unhealthy' ? consumingRepairs : consuming),
  )

  function gauge(name: string, help: string, value: (count: Count, reason: string) => number): Gauge {
    return new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset()
        if (!isReported()) return
        for (const count of countsOf(cluster)) {
          const nodepool = count.pool.metadata.name
          for (const reason of pausableReasons)
            this.set({ nodepool, reason: reason.toLowerCase() }, value(count, reason))
        }
      },
    })
  }
}

interface Count {
  readonly pool: NodePool
  readonly nodes: number
  readonly consuming: number
  /** Those that use up the budget for repairs. */
  readonly consumingRepairs: number
}

/** Counts by the planner's rule. */
function countsOf(cluster: ObservedCluster): readonly Count[] {
  const nodes = stateNodes({ nodes: [...cluster.nodes.values()], nodeClaims: [...cluster.nodeClaims.values()] })
  const [uses, repairs] = [budgetUses(nodes, {}), budgetUses(nodes, {}, 'Unhealthy')]
  const byPool = Map.groupBy(nodes, (one) => labelsOf(one)[labels.nodePool])
  return [...cluster.nodePools.values()].map((pool) => {
    const own = byPool.get(pool.metadata.name) ?? []
    return {
      pool,
      nodes: own.filter((one) => uses.get(one) !== 'none').length,
      consuming: own.filter((one) => uses.get(one) === 'disrupted').length,
      consumingRepairs: own.filter((one) => repairs.get(one) === 'disrupted').length,
    }
  })
}

/** Publishes the running disruption commands, by the stamps of their candidates; computed on each scrape, so also while nothing is evaluated. */
export function observeCommandsInFlight(
  nodeClaims: { values(): Iterable<NodeClaim> },
  isReported: () => boolean,
  registry: Registry,
): Gauge {
  return new Gauge({
    name: 'joiner_disruption_commands_in_flight',
    help: 'Disruption commands that are running.',
    labelNames: ['reason', 'consolidation_type'],
    registers: [registry],
    collect() {
      this.reset()
      if (!isReported()) return
      const stamps = new Set([...nodeClaims.values()].map(stampOf))
      for (const stamp of stamps) {
        const method = stamp && commandMethod(stamp)
        if (!method) continue
        const { reason, consolidationType } = methodFacts[method]
        this.inc({ reason: reason.toLowerCase(), consolidation_type: consolidationType })
      }
    },
  })
}
