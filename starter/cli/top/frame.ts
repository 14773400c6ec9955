import { cut } from '../../document/text.ts'
import type { ClusterView } from '../../view/cluster-view.ts'
import { columnsFor, type Resource } from './columns.ts'
import type { TopState } from './keys.ts'
import { type Paint } from './paint.ts'
import { selected } from './rows.ts'
import { emptyText, pendingLines, totalsLine, usageLines } from './summary.ts'
import { drawnTable } from './table.ts'

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
  const clip = (text: string) => cut(text, columns)
  const title = [totalsLine(view), new Date(now).toISOString().slice(11, 19), server].join('  ')
  const head = [
    paint(clip(title), 'bold'),
    ...usageLines(view, resources, {
      barWidth: Math.max(5, Math.min(40, columns - 50)),
      width: columns,
      paint,
    }),
  ]
  const warnings = view.missing.slice(0, mostMissing).map((text) => paint(clip(`! ${text}`), 'yellow'))
  const free = Math.max(0, rows - head.length - warnings.length - 2 - leastPage)
  const pending = pendingLines(view, Math.min(mostPending, free), now).map((text) => paint(clip(text), 'cyan'))
  const nodes = selected(view.nodes, state)
  const table = drawnTable(nodes, {
    ...state,
    columns: columnsFor(view, resources, barWidth),
    width: columns,
    now,
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
