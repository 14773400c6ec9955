import type { BudgetPeriod } from '../../../core/disruption/budgets/budget-forecast.ts'
import { unlimited } from '../../../core/disruption/budgets/budgets.ts'
import { pauseText } from '../../../core/pauses/pauses.ts'
import type { Gate, PoolBudgets, ReasonBudget } from './report.ts'

/** The report for programs: times as RFC 3339, null where there is no limit or no end in sight. */
export function budgetsJson(pools: readonly PoolBudgets[]) {
  const nodePools = pools.map(({ reasons, findings, nodePauses, ...pool }) => ({
    ...pool,
    problems: findings.map(({ index, isBlocking, message }) => ({ budget: index, blocks: isBlocking, message })),
    nodePauses: nodePauses.map((pause) => pauseText('disruption', pause)),
    reasons: reasons.map(reasonJson),
  }))
  return { nodePools }
}

function reasonJson({ reason, allowed, left, limitedBy, gate, periods, pauses }: ReasonBudget) {
  return {
    reason,
    allowed: amount(allowed),
    left: amount(left),
    limitedBy,
    ...gateJson(gate),
    pausedBy: pauses.map((pause) => pauseText('disruption', pause)),
    periods: periods.map(periodJson),
  }
}

function gateJson(gate: Gate) {
  if (gate.kind === 'open') return { openUntil: time(gate.untilMs) }
  const { untilMs, next } = gate
  return { blockedUntil: time(untilMs), nextWindow: next ? { from: time(next.fromMs), to: time(next.toMs) } : null }
}

function periodJson({ fromMs, toMs, allowed, because }: BudgetPeriod) {
  return { from: time(fromMs), to: time(toMs), allowed: amount(allowed), limitedBy: because }
}

const amount = (nodes: number) => (nodes >= unlimited ? null : nodes)
const time = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString())
