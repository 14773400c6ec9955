import { isDaemonPod, isTerminal } from '../pods/pod-rules.ts'
import { labels } from '../requirements/labels.ts'
import { labelsOf, type StateNode } from '../scheduling/state-nodes.ts'
import type { Candidate, DisruptionView } from './candidates.ts'
import { priceNow, rescheduleCost } from './costs.ts'
import { isApproved, type Score, scoreOf } from './score.ts'

/** Total cost of a pool's nodes in USD an hour, and the total cost of disrupting them. */
interface PoolTotals {
  readonly cost: number
  readonly disruption: number
}

/**
 * The policy Balanced: decides whether a move's savings are worth the disruption, both as shares of their pool's total (reference/karpenter-core.md
 * 4.8).
 */
export class BalancedPolicy {
  readonly #totals: ReadonlyMap<string, PoolTotals>

  /** `eligible`: all candidates, before a method chose among them. */
  constructor(eligible: readonly Candidate[], view: DisruptionView) {
    this.#totals = totalsOf(eligible, view)
  }

  /** Returns the scores of the pools that have the policy. A move goes ahead when all of them approve. */
  scores(candidates: readonly Candidate[], savings: number): readonly Score[] {
    const byPool = Map.groupBy(candidates, ({ nodePool }) => nodePool.metadata.name)
    const whole = priceOf(candidates)
    return [...byPool].flatMap(([pool, own]) => {
      if (!isBalanced(own[0] as Candidate)) return []
      const share = whole > 0 && byPool.size > 1 ? priceOf(own) / whole : 1
      return [this.#score(pool, savings * share, own)]
    })
  }

  /** Whether deleting the node without a replacement would be approved. */
  mayPass(candidate: Candidate): boolean {
    const pool = candidate.nodePool.metadata.name
    if (!isBalanced(candidate) || (this.#totals.get(pool)?.cost ?? 0) <= 0) return true
    return isApproved(this.#score(pool, candidate.price, [candidate]))
  }

  #score(nodePool: string, saved: number, candidates: readonly Candidate[]): Score {
    const totals = this.#totals.get(nodePool)
    if (totals === undefined || totals.cost <= 0 || totals.disruption <= 0)
      return scoreOf({ nodePool, savings: 0, disruption: 0 })
    const disruption = candidates.reduce((sum, one) => sum + one.disruptionCost, 0) / totals.disruption
    return scoreOf({ nodePool, savings: saved / totals.cost, disruption })
  }
}

function isBalanced({ nodePool }: Candidate): boolean {
  return nodePool.disruption.consolidationPolicy === 'Balanced'
}

function priceOf(candidates: readonly Candidate[]): number {
  return candidates.reduce((sum, { price }) => sum + price, 0)
}

/** Totals of a pool's nodes, including those that cannot be disrupted now. */
function totalsOf(eligible: readonly Candidate[], view: DisruptionView): ReadonlyMap<string, PoolTotals> {
  const known = new Map(eligible.map((candidate) => [candidate.nodeClaim, candidate]))
  const totals = new Map<string, { cost: number; disruption: number }>()
  for (const one of view.nodes) {
    const own = labelsOf(one)
    const pool = own[labels.nodePool]
    if (pool === undefined) continue
    const total = totals.get(pool) ?? { cost: 0, disruption: 0 }
    totals.set(pool, total)
    const candidate = one.claim && known.get(one.claim)
    total.disruption += candidate?.disruptionCost ?? disruptionOf(one, view)
    if (one.claim === undefined) continue
    total.cost += candidate?.price ?? priceNow(own, view.instanceTypes)
  }
  return totals
}

function disruptionOf({ node }: StateNode, view: DisruptionView): number {
  const pods = node === undefined ? [] : view.podsOn(node.metadata.name)
  return rescheduleCost(
    pods.filter((pod) => !isDaemonPod(pod) && !isTerminal(pod)),
    view.deletionCosts,
  )
}
