import { conditionOf, isTrue } from '../../../core/conditions.ts'
import { type BudgetFinding, budgetFindings } from '../../../core/disruption/budgets/budget-check.ts'
import { type BudgetPeriod, budgetForecast } from '../../../core/disruption/budgets/budget-forecast.ts'
import { budgetUses } from '../../../core/disruption/candidates.ts'
import { isReady } from '../../../core/node-claim/registration.ts'
import type { Budget, Node, NodeClaim } from '../../../core/objects.ts'
import { type Pause, type Pauses, type pausableReasons, scopeOf } from '../../../core/pauses/pauses.ts'
import { labels } from '../../../core/requirements/labels.ts'
import { stateNodes } from '../../../core/scheduling/state-nodes.ts'
import { aksPools, nodeClaims, nodes } from '../../picture/from-cluster.ts'
import { disruptionPauses } from '../../picture/kept.ts'
import type { Whole } from '../../picture/picture.ts'

export type Reason = (typeof pausableReasons)[number]

/** What the report needs of a cluster. */
export const budgetParts = { nodePools: aksPools, nodes, nodeClaims, pauses: disruptionPauses }
export type BudgetPicture = Whole<typeof budgetParts>

/** A node that uses up its pool's budgets, and why. */
interface ConsumingNode {
  readonly node: string
  readonly nodeClaim: string
  readonly why: string
}

/** A time in which something may be disrupted. `toMs` absent: it goes on beyond what was looked at. */
interface Window {
  readonly fromMs: number
  readonly toMs?: number
}

export type Gate =
  | { readonly kind: 'open'; readonly untilMs?: number }
  /** `untilMs` and `next` absent: it does not open within the time that was looked at. */
  | { readonly kind: 'blocked'; readonly untilMs?: number; readonly next?: Window }

export interface ReasonBudget {
  readonly reason: Reason
  /** What budgets allow in all now; 2147483647: no limit. */
  readonly allowed: number
  /** The same without what nodes use up now. */
  readonly left: number
  /** Indexes of the budgets that set the limit. */
  readonly limitedBy: readonly number[]
  readonly gate: Gate
  readonly periods: readonly BudgetPeriod[]
  /** Pauses that forbid it for the whole pool, whatever budgets allow. */
  readonly pauses: readonly Pause[]
}

export interface PoolBudgets {
  readonly nodePool: string
  readonly budgets: readonly Budget[]
  /** Nodes that a percentage is of. Budgets of a pool without nodes are reported as for one node. */
  readonly nodes: number
  readonly consuming: readonly ConsumingNode[]
  readonly findings: readonly BudgetFinding[]
  readonly reasons: readonly ReasonBudget[]
  /** Pauses of single nodes of the pool. */
  readonly nodePauses: readonly Pause[]
}

const dayMs = 24 * 3_600_000

/** What each pool's budgets allow now and in the days to come. `now`: epoch ms. */
export function budgetReport(
  cluster: BudgetPicture,
  { reasons, now, days }: { readonly reasons: readonly Reason[]; readonly now: number; readonly days: number },
): readonly PoolBudgets[] {
  const byPool = Map.groupBy(countedNodes(cluster), ({ claim }) => claim.metadata.labels[labels.nodePool])
  return cluster.nodePools
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .map(({ metadata: { name }, disruption: { budgets } }) => {
      const own = byPool.get(name) ?? []
      const consuming = own.flatMap(({ claim, node, isConsuming }) =>
        isConsuming
          ? [{ node: node.metadata.name, nodeClaim: claim.metadata.name, why: whyConsuming(claim, node) }]
          : [],
      )
      const input = { budgets, nodes: Math.max(1, own.length), from: now, to: now + days * dayMs }
      return {
        nodePool: name,
        budgets,
        nodes: own.length,
        consuming,
        findings: budgetFindings(budgets, now),
        reasons: reasons.map((reason) => ({
          ...reasonBudget(reason, budgetForecast({ ...input, reason }), consumingFor(reason, own)),
          pauses: pausesOf(cluster.pauses, name, reason),
        })),
        nodePauses: own.flatMap(({ claim, node }) =>
          cluster.pauses.onNodeClaim(claim.metadata.name, node.metadata.name),
        ),
      }
    })
}

interface CountedNode {
  readonly claim: NodeClaim
  readonly node: Node
  readonly isConsuming: boolean
  readonly isConsumingRepairs: boolean
}

/** A node that is not ready uses up no budget for its own repair. */
function consumingFor(reason: Reason, counted: readonly CountedNode[]): number {
  return counted.filter((one) => (reason === 'Unhealthy' ? one.isConsumingRepairs : one.isConsuming)).length
}

/** The nodes that budgets count, by the very rule by which the planner counts them. */
function countedNodes(cluster: BudgetPicture): readonly CountedNode[] {
  const all = stateNodes(cluster)
  const forRepairs = budgetUses(all, {}, 'Unhealthy')
  return [...budgetUses(all, {})].flatMap(([one, use]) => {
    const { claim, node } = one
    if (use === 'none' || claim === undefined || node === undefined) return []
    const isConsumingRepairs = forRepairs.get(one) === 'disrupted'
    return [{ claim, node, isConsuming: use === 'disrupted', isConsumingRepairs }]
  })
}

function whyConsuming({ metadata, status }: NodeClaim, node: Node): string {
  if (metadata.deletionTimestamp !== undefined) return 'being deleted'
  if (isTrue(status.conditions, 'Rebooting')) return 'rebooting'
  if (!isReady(node)) return 'not ready'
  const reason = conditionOf(status.conditions, 'DisruptionReason')?.reason
  return reason === undefined ? 'being disrupted' : `being disrupted: ${reason}`
}

function reasonBudget(
  reason: Reason,
  periods: readonly BudgetPeriod[],
  consuming: number,
): Omit<ReasonBudget, 'pauses'> {
  const { allowed = 0, because = [] } = periods[0] ?? {}
  return { reason, allowed, left: Math.max(0, allowed - consuming), limitedBy: because, gate: gateOf(periods), periods }
}

function gateOf(periods: readonly BudgetPeriod[]): Gate {
  const opens = periods.findIndex(({ allowed }) => allowed > 0)
  const open = periods[opens]
  if (open === undefined) return { kind: 'blocked' }
  const closes = periods.slice(opens).find(({ allowed }) => allowed <= 0)
  if (opens === 0) return { kind: 'open', ...(closes && { untilMs: closes.fromMs }) }
  const next = { fromMs: open.fromMs, ...(closes && { toMs: closes.fromMs }) }
  return { kind: 'blocked', untilMs: open.fromMs, next }
}

function pausesOf(pauses: Pauses, nodePool: string, reason: Reason): readonly Pause[] {
  return pauses.onNodePool(nodePool).filter((pause) => {
    const scope = scopeOf(pause)
    return scope.kind !== 'reason' || scope.reason === reason
  })
}
