import type { WaitingClass } from '../../../core/scheduling/explain/waiting-classes.ts'
import type { Document } from '../../document/document.ts'
import { cut } from '../../document/text.ts'
import { ago, counted, few, monthly, Times } from '../../document/words.ts'
import { gapLines } from '../../picture/gaps.ts'
import { type ClusterView, type NodeView } from '../../picture/watch/cluster-view.ts'
import {
  bar,
  bytesText,
  type Cell,
  type Column,
  columnsFor,
  coresText,
  noPaint,
  type Paint,
  type Resource,
  type Selection,
  type SortKey,
  selected,
  shareOf,
  shareStyle,
} from './columns.ts'
import type { TopState } from './keys.ts'

/** Where and how a frame is drawn. */
export interface Place {
  readonly columns: number
  readonly rows: number
  readonly paint: Paint
  /** Whose nodes these are. */
  readonly server: string
  readonly resources: readonly Resource[]
}

export interface Frame {
  /** As many as the terminal has at most; each fits, but for styles and wide characters. */
  readonly lines: readonly string[]
  /** Nodes that are shown at once. */
  readonly page: number
  /** Nodes of the selection. */
  readonly count: number
  /** The first one that is shown. */
  readonly offset: number
}

/** Lines that are left to nodes before causes of pending pods are shown. */
const leastPage = 5
const mostPending = 3
const mostMissing = 2
const wide = 120

/** Returns what the terminal shows of a view. Pure: the same input gives the same frame. */
export function frameOf(view: ClusterView, state: TopState, place: Place): Frame {
  const { columns, rows, paint, resources, server } = place
  const now = view.atMs
  const barWidth = columns >= wide ? 10 : 5
  const times = new Times(now)
  const clip = (text: string) => cut(times.text(text), columns)
  const title = [totalsLine(view), `${new Date(now).toISOString().slice(11, 19)} UTC`, server].join('  ')
  const head = [
    paint(clip(title), 'bold'),
    ...usageLines(view, resources, { barWidth: Math.max(5, Math.min(40, columns - 50)), width: columns, paint }),
  ]
  const warnings = gapLines(view)
    .slice(0, mostMissing)
    .map((text) => paint(clip(`! ${text}`), 'yellow'))
  const free = Math.max(0, rows - head.length - warnings.length - 2 - leastPage)
  const pending = pendingLines(view, Math.min(mostPending, free), now).map((text) => paint(clip(text), 'cyan'))
  const nodes = selected(view.nodes, state)
  const table = drawnTable(nodes, {
    ...state,
    columns: columnsFor(view, resources, barWidth),
    width: columns,
    now,
    times,
    paint,
  })
  const page = Math.max(1, rows - head.length - pending.length - warnings.length - 2)
  const offset = Math.max(0, Math.min(state.offset, nodes.length - page))
  const shown = nodes.slice(offset, offset + page)
  const body = shown.length === 0 ? [clip(emptyText(view, state))] : shown.map(table.row)
  const filler = Array.from({ length: Math.max(0, page - body.length) }, () => '')
  const last = paint(clip(helpLine(state, { first: offset, shown: shown.length, count: nodes.length })), 'dim')
  const lines = [...head, ...pending, table.heading, ...body, ...filler, ...warnings, last]
  // A terminal of a few lines shows the totals and the first nodes.
  return { lines: lines.slice(0, rows), page, count: nodes.length, offset }
}

function helpLine(
  { sort, nodePool, filter, isTyping }: TopState,
  { first, shown, count }: { readonly first: number; readonly shown: number; readonly count: number },
): string {
  if (isTyping) return `filter: ${filter}_  (Enter keeps it, Esc clears it)`
  const pool = nodePool === undefined ? 'all' : nodePool === '' ? '(none)' : nodePool
  const filtered = filter === '' ? '' : ` ${filter}`
  const where = count === 0 ? '0' : `${first + 1}-${first + shown} of ${count}`
  return `${where}  q quit  s/S sort: ${sort}  r reverse  p NodePool: ${pool}  / filter${filtered}  arrows, PgUp, PgDn scroll`
}

const gap = '  '
const narrowestNote = 10

/** The first to go where the terminal is narrow. */
const dropped: readonly Column['key'][] = [
  'age',
  'zone',
  'capacity',
  'pods',
  'type',
  'nodepool',
  'memory',
  'price',
  'phase',
  'cpu',
]

/** How a table is drawn. */
interface TableOptions {
  readonly columns: readonly Column[]
  readonly width: number
  readonly now: number
  readonly times: Times
  readonly sort: SortKey
  readonly isReversed: boolean
  readonly paint: Paint
}

/** Returns the heading, and a function that draws some of the rows. Columns are as wide as all rows need, so that they stay while one scrolls. */
function drawnTable(nodes: readonly NodeView[], options: TableOptions) {
  const { columns, width, now, times, sort, isReversed, paint } = options
  const textOf = ({ text }: Cell) => times.text(text)
  const titleOf = ({ key, title }: Column) => (key === sort ? `${title}${isReversed ? '▴' : '▾'}` : title)
  const natural = new Map(
    columns.map((column) => [
      column,
      nodes.reduce(
        (widest, node) => Math.max(widest, cut(textOf(column.cell(node, now)), Number.POSITIVE_INFINITY).length),
        titleOf(column).length,
      ),
    ]),
  )
  const widths = fitted(natural, width)
  const line = (cells: readonly (readonly [Column, Cell])[]) =>
    cells
      .map(([column, cell], at) => {
        const room = widths.get(column) ?? 0
        const shown = cut(textOf(cell), room, cell.isCutInFront)
        const isLast = at === cells.length - 1
        const padded = column.isRight ? shown.padStart(room) : isLast ? shown : shown.padEnd(room)
        return paint(padded, cell.style ?? 'plain')
      })
      .join(gap)
      .trimEnd()
  const shownColumns = [...widths.keys()]
  return {
    heading: line(shownColumns.map((column) => [column, { text: titleOf(column), style: 'bold' }] as const)),
    row: (node: NodeView) => line(shownColumns.map((column) => [column, column.cell(node, now)] as const)),
  }
}

/** Drops columns until the others fit; notes get what is left, and the name is cut at last. */
function fitted(natural: ReadonlyMap<Column, number>, width: number): ReadonlyMap<Column, number> {
  const kept = new Map([...natural].filter(([{ key }]) => key !== 'note'))
  const used = () => [...kept.values()].reduce((sum, each) => sum + each + gap.length, -gap.length)
  for (const key of dropped) {
    if (used() <= width) break
    for (const column of kept.keys()) if (column.key === key) kept.delete(column)
  }
  for (const [column, own] of kept)
    if (column.key === 'name') kept.set(column, Math.min(own, Math.max(1, own - (used() - width))))
  const rest = width - used() - gap.length
  for (const [column, own] of natural)
    if (column.key === 'note' && rest >= narrowestNote) kept.set(column, Math.min(rest, own))
  return kept
}

/** Returns totals on one line. */
function totalsLine(view: ClusterView): string {
  const { totals, nodes } = view
  const { pods, pending, pricePerHour, unpriced } = totals
  const isUnpriced = unpriced === totals.nodes && totals.nodes > 0
  const notReady = nodes.filter(({ isReady }) => !isReady).length
  return [
    !view.unlisted.includes('nodes') ? counted(totals.nodes, 'node') : 'nodes not known',
    ...(notReady === 0 || view.unlisted.includes('nodes') ? [] : [`${notReady} not ready`]),
    ...(!view.unlisted.includes('nodeclaims') ? [] : ['phases not known']),
    ...(!view.unlisted.includes('pods') ? [counted(pods, 'pod'), `${pending} pending`] : ['pods not known']),
    ...(isUnpriced ? ['USD not known'] : [`${pricePerHour.toFixed(3)} USD/hour`, `${monthly(pricePerHour)} USD/month`]),
    ...(unpriced === 0 || isUnpriced ? [] : [`${counted(unpriced, 'node')} without a price`]),
  ].join('  ')
}

/** Returns a line for each resource: how much of it pods request; none where pods are not known. */
function usageLines(
  view: ClusterView,
  shown: readonly Resource[],
  { barWidth, width, paint }: { readonly barWidth: number; readonly width: number; readonly paint: Paint },
): readonly string[] {
  if (view.unlisted.includes('pods')) return []
  const totals = { ...view.totals, podRoom: podRoom(view) }
  return shown.map((resource) => {
    const [requested, allocatable] =
      resource === 'pods' ? [totals.pods, totals.podRoom] : [totals.requested[resource], totals.allocatable[resource]]
    const share = shareOf(requested, allocatable)
    const name = cut(`${resource.padEnd(6)}  `, width)
    const drawn = cut(share === undefined ? '-' : bar(share, barWidth), width - name.length)
    const amounts = cut(`  ${amountsText(resource, requested, allocatable)}`, width - name.length - drawn.length)
    return `${name}${paint(drawn, shareStyle(share ?? 0))}${amounts}`
  })
}

function amountsText(resource: Resource, requested: number, allocatable: number): string {
  if (resource === 'cpu') return `${coresText(requested)} of ${coresText(allocatable)} cores requested`
  if (resource === 'memory') return `${bytesText(requested)} of ${bytesText(allocatable)} requested`
  return `${requested} of ${allocatable} pods`
}

/** Returns why pods wait, a line for each of the largest classes. */
function pendingLines({ pending }: ClusterView, most: number, now: number): readonly string[] {
  const lines = pending.slice(0, most).map((one) => pendingLine(one, now))
  const more = pending.length - lines.length
  return more > 0 && lines.length > 0
    ? [...lines.slice(0, -1), `${lines.at(-1)}  (and ${counted(more, 'cause')} more)`]
    : lines
}

function pendingLine({ state, cause, count, pods, sinceMs, plannedOn, finding }: WaitingClass, now: number): string {
  const what = cause === undefined ? state : `${state} (${cause})`
  const where = plannedOn.length === 0 ? '' : ` on ${few(plannedOn, 2)}`
  const names = few(pods.slice(0, 1), 1)
  // The cause first: a narrow terminal cuts the end.
  return `pending  ${counted(count, 'pod')} ${what}${where} for ${ago(now - sinceMs)}: ${finding} (such as ${names})`
}

/** Returns how many pods all nodes have room for. */
function podRoom({ nodes }: ClusterView): number {
  return nodes.reduce((sum, { allocatable }) => sum + allocatable.pods, 0)
}

/** Says that no node is shown, and of which there are none; nodes that could not be read are not none. */
function emptyText(view: ClusterView, { filter, nodePool }: Pick<TopState, 'filter' | 'nodePool'>): string {
  if (view.nodes.length === 0) return !view.unlisted.includes('nodes') ? 'no nodes' : 'nodes not known'
  const what = [
    ...(nodePool === undefined ? [] : [`of the NodePool "${nodePool}"`]),
    ...(filter ? [`with "${filter}"`] : []),
  ]
  return `no nodes ${what.join(' ')}`
}

const mostPendingAtOnce = 20

/** Returns a view as plain text, for scripts and pipes. */
export function onceDocument(view: ClusterView, selection: Selection, resources: readonly Resource[]): Document {
  const nodes = selected(view.nodes, selection)
  const columns = columnsFor(view, resources, 0)
  const head = [
    totalsLine(view),
    ...usageLines(view, resources, { barWidth: 0, width: Number.POSITIVE_INFINITY, paint: noPaint }),
    ...pendingLines(view, mostPendingAtOnce, view.atMs),
  ]
  const rows = nodes.map((node) => columns.map((column) => column.cell(node, view.atMs).text.trim() || undefined))
  const header = columns.map(({ title }) => title)
  return [head, [nodes.length === 0 ? emptyText(view, selection) : { header, rows }]]
}
