import type { Calendar } from '../../contract.ts'
import { momentTime, shortDayName } from '../state/format.ts'
import { DataTable } from './data-table.tsx'

type Pool = Calendar['pools'][number]
type Span = Pool['spans'][number]

interface Props {
  readonly fromMs: number
  readonly toMs: number
  readonly pool: Pool
}

const dayMs = 86_400_000

/** How many nodes of a NodePool may be disrupted at each time of the week: a row for each set of reasons. */
export function Week({ fromMs, toMs, pool }: Props) {
  const rows = [...Map.groupBy(pool.spans, ({ reasons }) => reasonText(reasons))]
  const place = (ms: number) => ((Math.min(Math.max(ms, fromMs), toMs) - fromMs) / (toMs - fromMs)) * 100
  return (
    <section class="card week" aria-label={`NodePool ${pool.nodePool}`}>
      <h3>{pool.nodePool}</h3>
      <div aria-hidden="true" class="week-grid">
        <span />
        <div class="week-days">
          {midnights(fromMs, toMs).map((ms) => (
            <span key={ms} style={{ left: `${place(ms)}%` }}>
              {shortDayName(ms)}
            </span>
          ))}
        </div>
        {rows.map(([reasons, spans]) => (
          <WeekRow key={reasons} reasons={reasons} spans={spans} place={place} />
        ))}
      </div>
      <details>
        <summary>As a table</summary>
        <SpanTable pool={pool} />
      </details>
    </section>
  )
}

interface RowProps {
  readonly reasons: string
  readonly spans: readonly Span[]
  readonly place: (ms: number) => number
}

function WeekRow({ reasons, spans, place }: RowProps) {
  return (
    <>
      <span class="week-name">{reasons}</span>
      <div class="week-row">
        {spans.map(({ fromMs, toMs, allowed, limitedBy }) => (
          <span
            key={fromMs}
            data-none={allowed === 0}
            style={{ left: `${place(fromMs)}%`, width: `${place(toMs) - place(fromMs)}%` }}
            title={`${momentTime(fromMs)} to ${momentTime(toMs)}: ${allowed} (${limitedBy})`}
          >
            {allowed}
          </span>
        ))}
      </div>
    </>
  )
}

const reasonText = (reasons: readonly string[]) => (reasons.length === 0 ? 'All reasons' : reasons.join(', '))

/** The starts of days within a time. */
function midnights(fromMs: number, toMs: number): readonly number[] {
  const day = new Date(fromMs)
  day.setHours(24, 0, 0, 0)
  const found: number[] = []
  // Days of 23 and 25 hours exist: each is asked for again.
  for (let at = day.getTime(); at < toMs - dayMs / 4; at = day.setDate(day.getDate() + 1)) found.push(at)
  return found
}

function SpanTable({ pool }: { readonly pool: Pool }) {
  return (
    <DataTable
      caption={`Allowed disruptions of ${pool.nodePool}`}
      columns={{ From: 'text', To: 'text', Reasons: 'text', Nodes: 'number', 'Limited by': 'text' }}
    >
      {pool.spans.map(({ fromMs, toMs, reasons, allowed, limitedBy }) => (
        <tr key={`${fromMs}${reasonText(reasons)}`}>
          <td>{momentTime(fromMs)}</td>
          <td>{momentTime(toMs)}</td>
          <td>{reasonText(reasons)}</td>
          <td class="number">{allowed}</td>
          <td class="free">{limitedBy}</td>
        </tr>
      ))}
    </DataTable>
  )
}
