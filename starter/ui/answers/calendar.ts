import { type LoopName, type Pause, pausableReasons, scopeOf } from '../../../core/pauses/pauses.ts'
import { defined } from '../../../core/values/defined.ts'
import { type BudgetPicture, budgetReport, type PoolBudgets } from '../../cli/budgets/report.ts'
import { limitText } from '../../cli/budgets/text.ts'
import type { Calendar } from '../contract.ts'

const days = 7
const dayMs = 24 * 3_600_000
/** Schedules may fire each minute; a page shows no more of one pool. */
const mostSpans = 500

type Span = Calendar['pools'][number]['spans'][number]

/** What budgets allow and what is paused in the next week. `provisioning`: pauses of that loop. */
export function calendarOf(cluster: BudgetPicture, provisioning: readonly Pause[], now: number): Calendar {
  return {
    fromMs: now,
    toMs: now + days * dayMs,
    pools: budgetReport(cluster, { reasons: pausableReasons, now, days }).map((pool) => ({
      nodePool: pool.nodePool,
      spans: spansOf(pool).slice(0, mostSpans),
    })),
    pauses: [
      ...cluster.pauses.inForce.map((pause) => shownPause('disruption', pause)),
      ...provisioning.map((pause) => shownPause('provisioning', pause)),
    ],
  }
}

/** Periods that are alike for several reasons, as one. */
function spansOf({ reasons, budgets }: PoolBudgets): readonly Span[] {
  const all = reasons.flatMap(({ reason, periods }) =>
    periods.map(({ fromMs, toMs, allowed, because }) => ({
      reason,
      span: { fromMs, toMs, allowed, limitedBy: limitText(because, budgets) },
    })),
  )
  return [...Map.groupBy(all, ({ span }) => JSON.stringify(span)).values()]
    .flatMap((group) => {
      const [first] = group
      return first === undefined ? [] : [{ ...first.span, reasons: group.map(({ reason }) => reason) }]
    })
    .sort((a, b) => a.fromMs - b.fromMs)
}

function shownPause(loop: LoopName, pause: Pause): Calendar['pauses'][number] {
  const { reason, by, sinceMs, untilMs } = pause
  return { loop, scope: scopeWords(pause), reason, sinceMs, ...defined({ by, untilMs }) }
}

function scopeWords(pause: Pause): string {
  const scope = scopeOf(pause)
  switch (scope.kind) {
    case 'cluster':
      return 'all'
    case 'nodePool':
      return `nodepool ${scope.name}`
    case 'node':
      return `node ${scope.name}`
    case 'reason':
      return `reason ${scope.reason}`
  }
}
