/** Units that Grafana knows, as far as the boards use them. */
type Unit = 'short' | 's' | 'ops' | 'percent' | 'percentunit' | 'bytes' | 'currencyUSD' | 'cores' | 'bool'

/** A panel; `stat` shows the last value alone. */
interface Panel {
  readonly title: string
  /** What it shows, and when to worry. */
  readonly description: string
  readonly unit: Unit
  readonly kind?: 'timeseries' | 'stat'
  /**
   * Expressions by the legend of their series, with labels in braces such as `{{nodepool}}`. Of several processes that report the same, they take the
   * maximum or the sum (docs/telemetry.md).
   */
  readonly queries: Readonly<Record<string, string>>
}

/** A board of Grafana: rows of panels. */
export interface Board {
  /** Also the name of its file. */
  readonly uid: string
  readonly title: string
  readonly description: string
  /** Whether it can be limited to NodePools by the variable `nodepool`. */
  readonly byNodePool?: true
  readonly rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[]
}

/** The grid of Grafana has this many columns. */
const columns = 24
const heights = { timeseries: 8, stat: 4 } as const
const widths = { timeseries: 12, stat: 6 } as const
const datasource = { type: 'prometheus', uid: '${datasource}' }
const units: Readonly<Partial<Record<Unit, string>>> = { cores: 'short' }

/** Returns the dashboard that Grafana imports. */
export function dashboard({ uid, title, description, byNodePool, rows }: Board): object {
  return {
    uid,
    title,
    description,
    tags: ['joiner', 'karpenter'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '1m',
    time: { from: 'now-6h', to: 'now' },
    timezone: 'browser',
    links: [
      { type: 'dashboards', title: 'Joiner', tags: ['joiner'], asDropdown: true, keepTime: true, includeVars: true },
    ],
    templating: { list: [dataSource, ...(byNodePool === true ? [nodePools] : [])] },
    panels: placed(rows),
  }
}

const dataSource = { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', hide: 0 }
const nodePoolQuery = 'label_values(karpenter_nodepools_usage, nodepool)'
const nodePools = {
  name: 'nodepool',
  label: 'NodePool',
  type: 'query',
  datasource,
  definition: nodePoolQuery,
  query: { query: nodePoolQuery, refId: 'nodepool' },
  refresh: 2,
  sort: 1,
  multi: true,
  includeAll: true,
  allValue: '.*',
  current: { text: 'All', value: '$__all' },
}

/** Panels from left to right, row by row. */
function placed(rows: Board['rows']): readonly object[] {
  const shown: object[] = []
  let y = 0
  for (const { title, panels } of rows) {
    shown.push({ id: shown.length + 1, type: 'row', title, collapsed: false, gridPos: { x: 0, y, w: columns, h: 1 } })
    y += 1
    let x = 0
    let lineHeight = 0
    for (const panel of panels) {
      const { kind = 'timeseries' } = panel
      const [w, h] = [widths[kind], heights[kind]]
      if (x + w > columns) {
        y += lineHeight
        x = 0
        lineHeight = 0
      }
      shown.push({ id: shown.length + 1, ...panelJson(panel), gridPos: { x, y, w, h } })
      x += w
      lineHeight = Math.max(lineHeight, h)
    }
    y += lineHeight
  }
  return shown
}

function panelJson({ title, description, unit, kind = 'timeseries', queries }: Panel): object {
  return {
    type: kind,
    title,
    description,
    datasource,
    fieldConfig: {
      defaults: {
        unit: units[unit] ?? unit,
        min: 0,
        ...(kind === 'timeseries' ? { custom: { fillOpacity: 10, showPoints: 'never' } } : {}),
      },
      overrides: [],
    },
    options:
      kind === 'stat'
        ? { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'none', graphMode: 'area' }
        : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: Object.entries(queries).map(([legendFormat, expr], index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      expr,
      legendFormat,
    })),
  }
}
