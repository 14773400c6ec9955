import type { BudgetPeriod } from '../../../core/disruption/budgets/budget-forecast.ts'
import { unlimited } from '../../../core/disruption/budgets/budgets.ts'
import type { Budget } from '../../../core/objects.ts'
import { pauseText } from '../../../core/pauses/pauses.ts'
import { timeText } from '../../../core/values/time.ts'
import type { Document, Part, Table } from '../../document/document.ts'
import { counted, few, type Times } from '../../document/words.ts'
import type { Gate, PoolBudgets, ReasonBudget } from './report.ts'

/** Reasons of a pool for which budgets say the same. */
interface Group {
  readonly names: string
  readonly same: ReasonBudget
}

const mostPeriods = 16
const mostNodes = 10

/** The report for people: a line for each pool and reason, and below it what is worth knowing of each pool. */
export function budgetsDocument(pools: readonly PoolBudgets[], shown: Shown): Document {
  const rows = pools.flatMap((pool) =>
    groupsOf(pool).map(({ names, same }) => [
      pool.nodePool,
      names,
      pool.nodes,
      amount(same.allowed),
      pool.consuming.length,
      same.pauses.length > 0 ? 'paused' : amount(same.left),
      limitText(same.limitedBy, pool.budgets),
    ]),
  )
  const header = ['NODEPOOL', 'REASON', 'NODES', 'BUDGET', 'IN USE', 'LEFT', 'LIMITED BY']
  const drop = ['REASON']
  return [
    [{ header, drop, rows }],
    ...pools.map((pool) => [{ title: `${pool.nodePool}:`, items: detailsOf(pool, shown) }]),
  ]
}

interface Shown {
  readonly days: number
  readonly times: Times
}

function groupsOf({ reasons }: PoolBudgets): readonly Group[] {
  const groups = Map.groupBy(reasons, (one) => JSON.stringify({ ...one, reason: '' }))
  return [...groups.values()].map((group) => ({
    names: group.map(({ reason }) => reason).join(', '),
    same: group[0] as ReasonBudget,
  }))
}

const amount = (nodes: number) => (nodes >= unlimited ? 'no limit' : String(nodes))

/** The budgets of these indexes in words; `-` for none. */
export function limitText(indexes: readonly number[], budgets: readonly Budget[]): string {
  const texts = indexes.flatMap((index) => {
    const budget = budgets[index]
    return budget === undefined ? [] : [budgetText(budget, index)]
  })
  return texts.join(' and ') || '-'
}

/** `10% (budgets[0])`, `0 by "0 9 * * mon-fri" for 8h (budgets[1])`. */
function budgetText({ nodes, schedule, duration }: Budget, index: number): string {
  const when = schedule === undefined ? '' : ` by "${schedule}" for ${duration ?? '0s'}`
  return `${nodes}${when} (budgets[${index}])`
}

function detailsOf(pool: PoolBudgets, shown: Shown): readonly Part[] {
  const lines: Part[] = pool.findings.map(({ isBlocking, message }) => `${isBlocking ? '✗' : '!'} ${message}`)
  const pauses = new Set([...pool.reasons.flatMap((reason) => reason.pauses), ...pool.nodePauses])
  for (const pause of pauses) lines.push(pauseText('disruption', pause))
  if (pool.nodes === 0) lines.push('no nodes that count yet; budgets are reported as for one node')
  if (pool.consuming.length > 0) {
    const names = pool.consuming.map(({ node, why }) => `${node} (${why})`)
    lines.push(`in use by ${counted(names.length, 'node')}: ${few(names, mostNodes)}`)
  }
  for (const group of groupsOf(pool)) lines.push(...forecastLines(group, pool.budgets, shown))
  return lines
}

function forecastLines(
  { names, same: { gate, periods } }: Group,
  budgets: readonly Budget[],
  { days, times }: Shown,
): readonly Part[] {
  const state = gateText(gate, days)
  if (periods.length === 1) return state === undefined ? [] : [`${names}: ${state}`]
  const rest = periods.slice(mostPeriods)
  const end = rest.at(-1)?.toMs
  const title = `${names}${state === undefined ? '' : `: ${state}`}`
  const more = end && `and ${rest.length} more until ${times.utc(end)} UTC; --output json has all`
  return [{ title, items: [periodTable(periods.slice(0, mostPeriods), budgets, times), more || undefined] }]
}

/** Undefined: it is open, and stays so. */
function gateText(gate: Gate, days: number): string | undefined {
  if (gate.kind === 'open') return gate.untilMs === undefined ? undefined : `open until ${timeText(gate.untilMs)}`
  if (gate.next === undefined) return `blocked for the next ${counted(days, 'day')} at least`
  const { fromMs, toMs } = gate.next
  const end = toMs === undefined ? `for the rest of ${counted(days, 'day')}` : `until ${timeText(toMs)}`
  return `blocked until ${timeText(fromMs)}; then open ${end}`
}

function periodTable(periods: readonly BudgetPeriod[], budgets: readonly Budget[], times: Times): Table {
  const isLocal = times.differs(periods.flatMap(({ fromMs, toMs }) => [fromMs, toMs]))
  const span = (from: string, to: string) => `${from} - ${to.startsWith(from.slice(0, 10)) ? to.slice(11) : to}`
  const rows = periods.map(({ fromMs, toMs, allowed, because }) => [
    span(times.utc(fromMs), times.utc(toMs)),
    ...(isLocal ? [`[${span(times.local(fromMs), times.local(toMs))}]`] : []),
    amount(allowed),
    limitText(because, budgets),
  ])
  return { header: ['UTC', ...(isLocal ? [`[${times.zone}]`] : []), 'BUDGET', 'LIMITED BY'], rows }
}

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
    allowed: amountOrNull(allowed),
    left: amountOrNull(left),
    limitedBy,
    ...gateJson(gate),
    pausedBy: pauses.map((pause) => pauseText('disruption', pause)),
    periods: periods.map(periodJson),
  }
}

function gateJson(gate: Gate) {
  if (gate.kind === 'open') return { openUntil: timeOrNull(gate.untilMs) }
  const { untilMs, next } = gate
  return {
    blockedUntil: timeOrNull(untilMs),
    nextWindow: next ? { from: timeOrNull(next.fromMs), to: timeOrNull(next.toMs) } : null,
  }
}

function periodJson({ fromMs, toMs, allowed, because }: BudgetPeriod) {
  return { from: timeOrNull(fromMs), to: timeOrNull(toMs), allowed: amountOrNull(allowed), limitedBy: because }
}

const amountOrNull = (nodes: number) => (nodes >= unlimited ? null : nodes)
const timeOrNull = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString())
