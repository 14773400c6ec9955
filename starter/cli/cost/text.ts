import { type BilledSpan, billOf, hourMs } from '../../../core/cost/bill.ts'
import type { ShareLine } from '../../../core/cost/report.ts'
import { timeText } from '../../../core/values/time.ts'
import type { CsvCell, CsvTable } from '../../document/csv.ts'
import type { Document, Part } from '../../document/document.ts'
import { note, print } from '../../document/print.ts'
import { counted, percent, shareText, usd } from '../../document/words.ts'
import { type ReadCost, readCost } from '../../picture/cost.ts'
import { withCluster } from '../access/cluster.ts'
import { withTemporal } from '../operate/temporal-access.ts'
import type { TemporalOptions } from '../operate/temporal-options.ts'
import type { OutputFormat } from '../shared/options.ts'

/** More lines would push the sums out of sight; CSV and JSON have all. */
const mostLines = 40
const titles = { nodepool: 'NODEPOOL', namespace: 'NAMESPACE', workload: 'WORKLOAD', label: 'LABEL' } as const

/** Returns the report for people. */
export function costDocument(cost: ReadCost, by: CostKey, cluster: string): Document {
  const { window } = cost
  const hours = (window.toMs - window.fromMs) / hourMs
  return [
    [
      `Cost of cluster ${cluster} from ${timeText(window.fromMs)} to ${timeText(window.toMs)} (${hours.toFixed(1)} h), USD`,
    ],
    linesOf(rowsOf(cost, by), by, cost.total.usd),
    [{ rows: sumsOf(cost, hours) }],
    cost.notes.map((note) => `note: ${note}`),
  ]
}

function linesOf(rows: readonly CostRow[], by: CostKey, total: number): readonly Part[] {
  if (rows.length === 0) return ['nothing is known of this time']
  const hasHours = rows.some(({ nodeHours }) => nodeHours !== undefined)
  const heading = by.kind === 'label' ? `${titles.label} ${by.label}` : titles[by.kind]
  const shown = rows
    .slice(0, mostLines)
    .map(({ key, usd: own, nodeHours, spotDiscount }) => [
      key,
      usd(own),
      percent(own, total),
      ...(hasHours ? [(nodeHours ?? 0).toFixed(2), usd(spotDiscount ?? 0)] : []),
    ])
  const more = rows.length - shown.length
  return [
    { header: [heading, 'USD', 'SHARE', ...(hasHours ? ['NODE-HOURS', 'SPOT DISCOUNT'] : [])], rows: shown },
    more > 0 ? `and ${more} more; -o csv has all` : undefined,
  ]
}

function sumsOf(
  { total, shares, savings, forecastMonth, window }: ReadCost,
  hours: number,
): readonly (readonly string[])[] {
  const saved = savings.reduce((sum, { usd: own }) => sum + own, 0)
  const byReason = [...Map.groupBy(savings, ({ command }) => command.reason)].map(
    ([reason, own]) => `${reason} ${usd(own.reduce((sum, { usd: each }) => sum + each, 0))}`,
  )
  const month = new Date(window.toMs).toISOString().slice(0, 7)
  const share = (part: number) => `${usd(part)}${shareText(part, total.usd)}`
  return [
    ['total', `${usd(total.usd)}, ${total.nodeHours.toFixed(2)} node-hours, ${usd(total.usd / hours)} an hour`],
    ['idle', shares === undefined ? 'unknown' : `${share(shares.idle)}, requested by no pod`],
    ...(shares === undefined ? [] : [['unknown', `${share(shares.unknown)}, not watched`]]),
    [
      'saved',
      `${usd(saved)} by ${counted(savings.length, 'disruption command')}${byReason.length === 0 ? '' : `: ${byReason.join(', ')}`}`,
    ],
    ['spot discount', `${usd(total.spotDiscount)} against today's prices on demand`],
    ['forecast', forecastMonth === undefined ? `${month}: needs an hour of costs` : `${month}: ${usd(forecastMonth)}`],
  ]
}

/** Returns the lines for spreadsheets. */
export function costCsv(cost: ReadCost, by: CostKey): CsvTable {
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
  return { header, rows }
}

/** Returns everything for programs. Hours of which nothing is known have null. */
export function costJson(cost: ReadCost, by: CostKey) {
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

interface CostRow {
  readonly key: string
  readonly usd: number
  readonly nodeHours?: number
  readonly unpricedHours?: number
  readonly spotDiscount?: number
}

/** Returns the lines of a report, which add up to the total. Names in parentheses cannot be names of objects. */
function rowsOf(cost: ReadCost, by: CostKey): readonly CostRow[] {
  const { total, spans, shares } = cost
  switch (by.kind) {
    case 'nodepool':
      return total.lines.map((line) => ({ ...line, key: line.key === '' ? '(no NodePool)' : line.key }))
    case 'label':
      return withRest(billOf(spans, labelOf(by.label), cost.onDemand).lines, total.usd)
    case 'namespace':
      return shares === undefined ? [] : withShares(shares.namespaces, shares.otherNamespaces, shares)
    case 'workload':
      return shares === undefined ? [] : withShares(shares.workloads, shares.otherWorkloads, shares)
  }
}

/** Facts of the VM come first: a label of the NodeClaim cannot say anything else of them. */
function labelOf(label: string): (span: BilledSpan) => string {
  const facts: Readonly<Record<string, (span: BilledSpan) => string>> = {
    'karpenter.sh/nodepool': ({ life }) => life.nodePool ?? '',
    'karpenter.sh/capacity-type': ({ vm }) => vm.capacityType,
    'node.kubernetes.io/instance-type': ({ vm }) => vm.instanceType,
    'topology.kubernetes.io/zone': ({ vm }) => vm.zone,
  }
  const fact = Object.hasOwn(facts, label) ? facts[label] : undefined
  return (span) => (fact?.(span) ?? (Object.hasOwn(span.life.labels, label) ? span.life.labels[label] : '')) || '(none)'
}

/** What only the ledger knows has no labels. */
function withRest(lines: readonly CostRow[], total: number): readonly CostRow[] {
  const rest = total - lines.reduce((sum, { usd }) => sum + usd, 0)
  return rest > 1e-9 ? [...lines, { key: '(unknown)', usd: rest }] : lines
}

function withShares(
  lines: readonly ShareLine[],
  other: number,
  { idle, unknown }: { readonly idle: number; readonly unknown: number },
): readonly CostRow[] {
  return [
    ...lines,
    ...(other === 0 ? [] : [{ key: '(other)', usd: other }]),
    { key: '(idle)', usd: idle },
    ...(Math.abs(unknown) < 1e-9 ? [] : [{ key: '(unknown)', usd: unknown }]),
  ]
}

/** What costs are listed by. */
export type CostKey =
  | { readonly kind: 'nodepool' | 'namespace' | 'workload' }
  | { readonly kind: 'label'; readonly label: string }

export interface CostOptions extends TemporalOptions {
  readonly groupBy: CostKey
  /** Epoch ms. */
  readonly since: number
  readonly output: OutputFormat | 'csv'
}

/** Prints what nodes cost. Returns the exit code. */
export function showCost({ groupBy: by, since, output, ...where }: CostOptions): Promise<number> {
  return withTemporal(where, (access) =>
    withCluster(where, async (kubernetes) => {
      const from = { access, kubernetes, namespace: where.joinerNamespace }
      const cost = await readCost(from, { sinceMs: since, nowMs: Date.now() })
      if (output === 'csv') note(...cost.notes)
      await print(output, {
        json: costJson(cost, by),
        document: () => costDocument(cost, by, access.cluster),
        csv: () => costCsv(cost, by),
      })
      return 0
    }),
  )
}
