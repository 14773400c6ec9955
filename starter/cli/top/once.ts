import type { Document } from '../../document/document.ts'
import type { ClusterView } from '../../view/cluster-view.ts'
import { columnsFor, type Resource, type Selection, selected } from './columns.ts'
import { emptyText, pendingLines, totalsLine, usageLines } from './frame.ts'
import { noPaint } from './paint.ts'

const mostPending = 20

/** Returns a view as plain text, for scripts and pipes. */
export function onceDocument(view: ClusterView, selection: Selection, resources: readonly Resource[]): Document {
  const nodes = selected(view.nodes, selection)
  const columns = columnsFor(view, resources, 0)
  const head = [
    totalsLine(view),
    ...usageLines(view, resources, { barWidth: 0, width: Number.POSITIVE_INFINITY, paint: noPaint }),
    ...pendingLines(view, mostPending, view.atMs),
  ]
  const rows = nodes.map((node) => columns.map((column) => column.cell(node, view.atMs).text.trim() || undefined))
  const header = columns.map(({ title }) => title)
  return [head, [nodes.length === 0 ? emptyText(view, selection) : { header, rows }]]
}
