import { hourMs } from '../../../core/cost/bill.ts'
import { printable } from '../../../core/values/printable.ts'
import { timeText } from '../../../core/values/time.ts'
import type { ReadCost } from '../../cost/read-cost.ts'
import { counted, percent, shareText, usd } from '../../document/words.ts'
import { type CsvCell, csvText } from '../shared/csv.ts'
import { aligned } from '../shared/table.ts'
import type { CostKey } from './options.ts'
import { type CostRow, rowsOf } from './rows.ts'

/** More lines would push the sums out of sight; CSV and JSON have all. */
const mostLines = 40
const titles = { nodepool: 'NODEPOOL', namespace: 'NAMESPACE', workload: 'WORKLOAD', label: 'LABEL' } as const

/** Returns the report for people. */
export function costText(cost: ReadCost, by: CostKey, cluster: string): string {
  const { window } = cost
  const hours = (window.toMs - window.fromMs) / hourMs
  return [
    `Cost of cluster ${printable(cluster)} from ${timeText(window.fromMs)} to ${timeText(window.toMs)} (${hours.toFixed(1)} h), USD`,
    '',
    linesText(rowsOf(cost, by), by, cost.total.usd),
    '',
    ...sumsOf(cost, hours),
    '',
    ...cost.notes.map((note) => `note: ${printable(note)}`),
  ].join('\n')
}

function linesText(rows: readonly CostRow[], by: CostKey, total: number): string {
  if (rows.length === 0) return 'nothing is known of this time'
  const hasHours = rows.some(({ nodeHours }) => nodeHours !== undefined)
  const heading = by.kind === 'label' ? `${titles.label} ${printable(by.label)}` : titles[by.kind]
  const header = [heading, 'USD', 'SHARE', ...(hasHours ? ['NODE-HOURS', 'SPOT DISCOUNT'] : [])]
  const shown = rows
    .slice(0, mostLines)
    .map(({ key, usd: own, nodeHours, spotDiscount }) => [
      key,
      usd(own),
      percent(own, total),
      ...(hasHours ? [(nodeHours ?? 0).toFixed(2), usd(spotDiscount ?? 0)] : []),
    ])
  const more = rows.length - shown.length
  return [aligned([header, ...shown]), ...(more > 0 ? [`and ${more} more; -o csv has all`] : [])].join('\n')
}

function sumsOf({ total, shares, savings, forecastMonth, window }: ReadCost, hours: number): readonly string[] {
  const saved = savings.reduce((sum, { usd }) => sum + usd, 0)
  const byReason = [...Map.groupBy(savings, ({ command }) => command.reason)].map(
    ([reason, own]) => `${reason} ${usd(own.reduce((sum, { usd }) => sum + usd, 0))}`,
  )
  const month = new Date(window.toMs).toISOString().slice(0, 7)
  const sums: (readonly [string, string])[] = [
    ['total', `${usd(total.usd)}, ${total.nodeHours.toFixed(2)} node-hours, ${usd(total.usd / hours)} an hour`],
    [
      'idle',
      shares === undefined ? 'unknown' : `${usd(shares.idle)}${shareText(shares.idle, total.usd)}, requested by no pod`,
    ],
    ...(shares === undefined
      ? []
      : [['unknown', `${usd(shares.unknown)}${shareText(shares.unknown, total.usd)}, not watched`] as const]),
    [
      'saved',
      `${usd(saved)} by ${counted(savings.length, 'disruption command')}${byReason.length === 0 ? '' : `: ${byReason.join(', ')}`}`,
    ],
    ['spot discount', `${usd(total.spotDiscount)} against today's prices on demand`],
    ['forecast', forecastMonth === undefined ? `${month}: needs an hour of costs` : `${month}: ${usd(forecastMonth)}`],
  ]
  return aligned(sums.map(([name, text]) => [name, text])).split('\n')
}

/** Returns the lines for spreadsheets. */
export function costCsv(cost: ReadCost, by: CostKey): string {
  const from = timeText(cost.window.fromMs)
  const to = timeText(cost.window.toMs)
  const header = ['from', 'to', 'by', 'key', 'usd', 'node_hours', 'unpriced_node_hours', 'spot_discount_usd']
  const name = by.kind === 'label' ? `label=${by.label}` : by.kind
  const rows = rowsOf(cost, by).map(({ key, usd, nodeHours, unpricedHours, spotDiscount }): readonly CsvCell[] => [
    from,
    to,
    name,
    key,
    usd,
    nodeHours,
    unpricedHours,
    spotDiscount,
  ])
  return csvText(header, rows)
}

/** Returns everything for programs. Hours of which nothing is known have null. */
export function costJson(cost: ReadCost, by: CostKey): object {
  const { window, hours, total, shares, savings, forecastMonth, knownSinceMs, notes } = cost
  return {
    from: timeText(window.fromMs),
    to: timeText(window.toMs),
    by: by.kind === 'label' ? `label=${by.label}` : by.kind,
    lines: rowsOf(cost, by),
    total: {
      usd: total.usd,
      nodeHours: total.nodeHours,
      unpricedNodeHours: total.unpricedHours,
      spotDiscountUsd: total.spotDiscount,
    },
    idleUsd: shares?.idle ?? null,
    unknownUsd: shares?.unknown ?? null,
    watchedHours: shares === undefined ? null : shares.watchedMs / hourMs,
    lifecyclesKnownSince: knownSinceMs === undefined ? null : timeText(knownSinceMs),
    forecastMonthUsd: forecastMonth ?? null,
    savings: savings.map(({ command, usd, fromMs, toMs }) => ({
      command: command.id,
      reason: command.reason,
      decision: command.decision,
      usdPerHour: command.savings,
      from: timeText(fromMs),
      to: timeText(toMs),
      usd,
    })),
    hours: hours.map(({ atMs, usd, knownMs, byNodePool, idle }) => ({
      at: timeText(atMs),
      usd: knownMs > 0 ? usd : null,
      knownSeconds: knownMs / 1000,
      byNodePool: knownMs > 0 ? byNodePool : null,
      idleUsd: idle ?? null,
    })),
    notes,
  }
}
