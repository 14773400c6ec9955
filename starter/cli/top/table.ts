import { cut } from '../../document/text.ts'
import type { NodeView } from '../../view/cluster-view.ts'
import type { Column, SortKey } from './columns.ts'
import { type Cell, type Paint } from './paint.ts'

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
export interface TableOptions {
  readonly columns: readonly Column[]
  readonly width: number
  readonly now: number
  readonly sort: SortKey
  readonly isReversed: boolean
  readonly paint: Paint
}

/** Returns the heading, and a function that draws some of the rows. Columns are as wide as all rows need, so that they stay while one scrolls. */
export function drawnTable(nodes: readonly NodeView[], options: TableOptions) {
  const { columns, width, now, sort, isReversed, paint } = options
  const titleOf = ({ key, title }: Column) => (key === sort ? `${title}${isReversed ? '▴' : '▾'}` : title)
  const natural = new Map(
    columns.map((column) => [
      column,
      nodes.reduce(
        (widest, node) => Math.max(widest, cut(column.cell(node, now).text, Number.POSITIVE_INFINITY).length),
        titleOf(column).length,
      ),
    ]),
  )
  const widths = fitted(natural, width)
  const line = (cells: readonly (readonly [Column, Cell])[]) =>
    cells
      .map(([column, cell], at) => {
        const room = widths.get(column) ?? 0
        const shown = cut(cell.text, room, cell.isCutInFront)
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
