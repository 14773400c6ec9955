import { signal } from '@preact/signals'
import { dollars, percent } from '../../../document/words.ts'
import type { CostLine, CostReport } from '../../contract.ts'
import { CostPlot } from '../parts/cost-plot.tsx'
import { DataTable } from '../parts/data-table.tsx'
import { DaysChoice } from '../parts/days.tsx'
import { Figure } from '../parts/figure.tsx'
import { Loaded } from '../parts/loaded.tsx'
import { now } from '../state/clock.ts'
import { useResource } from '../state/resource.ts'

const days = signal(7)

/** What the nodes cost, what was saved, and where it went. */
export function CostPage() {
  const fiveMinutes = Math.floor(now.value / 300_000)
  const cost = useResource<CostReport>(`api/cost?days=${days.value}`, [fiveMinutes])
  return (
    <>
      <header class="page-head">
        <h1>Cost</h1>
        <DaysChoice days={days} />
      </header>
      <Loaded resource={cost} what="the cost">
        {(known) => <Report report={known} />}
      </Loaded>
    </>
  )
}

function Report({ report }: { readonly report: CostReport }) {
  const { total, saved, idle, forecastMonth, hours, byNodePool, byNamespace, notes } = report
  return (
    <>
      <dl class="totals">
        <Figure name={days.value === 1 ? 'Last 24 hours' : `Last ${days.value} days`} value={dollars(total)} />
        <Figure name="Saved by disruption" value={dollars(saved)} />
        <Figure
          name="Idle: requested by no pod"
          value={idle === undefined ? 'not known' : dollars(idle)}
          {...(idle === undefined ? {} : { more: `${percent(idle, total)} of the sum` })}
        />
        <Figure
          name="Forecast for this month"
          value={forecastMonth === undefined ? 'not known' : dollars(forecastMonth)}
        />
      </dl>
      {notes.length > 0 && (
        <ul class="plain-notes" aria-label="What to know about these numbers">
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      <section class="card" aria-labelledby="plot-title">
        <h2 id="plot-title">Each hour by NodePool</h2>
        <CostPlot hours={hours} />
      </section>
      <div class="columns even">
        <Lines title="By NodePool" first="NodePool" none="without a NodePool" lines={byNodePool} whole={total} />
        <Lines title="By namespace" first="Namespace" none="no namespace" lines={byNamespace} whole={total} />
      </div>
    </>
  )
}

interface LinesProps {
  readonly title: string
  readonly first: string
  readonly none: string
  readonly lines: readonly CostLine[]
  /** USD that the shares are of. */
  readonly whole: number
}

function Lines({ title, first, none, lines, whole }: LinesProps) {
  const hasHours = lines.some(({ nodeHours }) => nodeHours !== undefined)
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {lines.length === 0 ? (
        <p class="empty">Nothing is known of this time.</p>
      ) : (
        <DataTable
          columns={{
            [first]: 'text',
            Cost: 'number',
            Share: 'number',
            ...(hasHours && { 'Node hours': 'number' as const }),
          }}
        >
          {lines.map(({ key, usd: amount, nodeHours }) => (
            <tr key={key}>
              <th scope="row" class="free">
                {key === '' ? none : key}
              </th>
              <td class="number">{dollars(amount)}</td>
              <td class="number share">
                <span class="meter-track" aria-hidden="true">
                  <span class="meter-fill" style={{ width: `${whole > 0 ? (amount / whole) * 100 : 0}%` }} />
                </span>
                <span class="share-value">{percent(amount, whole)}</span>
              </td>
              {hasHours && <td class="number">{nodeHours === undefined ? '–' : Math.round(nodeHours * 10) / 10}</td>}
            </tr>
          ))}
        </DataTable>
      )}
    </section>
  )
}
