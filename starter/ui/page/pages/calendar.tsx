import type { ActionRequest, Calendar } from '../../contract.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Badge, Icon, Loaded } from '../parts/elements.tsx'
import { useResource } from '../state/api.ts'
import { asking } from '../state/asking.ts'
import { momentTime, now, shortDayName, spanText } from '../state/format.ts'
import { canAct } from '../state/stream.ts'

type Pause = Calendar['pauses'][number]

/** What is paused, and what budgets allow in the next seven days. */
export function CalendarPage() {
  const halfMinute = Math.floor(now.value / 30_000)
  const calendar = useResource<Calendar>('api/calendar', [halfMinute])
  const pause = () => {
    asking.value = {
      title: 'Pause Joiner?',
      text: ['What runs is finished. Spot evictions, repairs and deletions go on.'],
      button: 'Pause',
      fields: ['scope', 'reason', 'time'],
      request: ({ loop, nodePool, reason, forMs }) => ({
        kind: 'pause',
        loop,
        reason,
        ...(nodePool === '' || loop === 'provisioning' ? {} : { nodePool }),
        ...(forMs === undefined || forMs === 0 ? {} : { forMs }),
      }),
      whenDone: calendar.reload,
    }
  }
  return (
    <>
      <header class="page-head">
        <h1>Pauses and budgets</h1>
        {canAct.value && (
          <button type="button" onClick={pause}>
            <Icon name="pause" />
            Pause …
          </button>
        )}
      </header>
      <Loaded resource={calendar} what="the calendar">
        {(known) => <Plan calendar={known} reload={calendar.reload} />}
      </Loaded>
    </>
  )
}

function Plan({ calendar, reload }: { readonly calendar: Calendar; readonly reload: () => void }) {
  const { pauses, pools, fromMs, toMs } = calendar
  return (
    <>
      <section aria-labelledby="pauses-title">
        <h2 id="pauses-title">Pauses</h2>
        {pauses.length === 0 ? (
          <p class="empty">Nothing is paused or held.</p>
        ) : (
          <ul class="pauses">
            {pauses.map((pause) => (
              <li key={`${pause.loop}${pause.scope}`} class="card">
                <PauseEntry pause={pause} reload={reload} />
              </li>
            ))}
          </ul>
        )}
      </section>
      <section aria-labelledby="budgets-title" class="stack">
        <div>
          <h2 id="budgets-title">Budgets of the next seven days</h2>
          <p class="quiet-text">How many nodes may be disrupted at a time. Hatched: none.</p>
        </div>
        {pools.length === 0 && <p class="empty">There is no NodePool.</p>}
        {pools.map((pool) => (
          <Week key={pool.nodePool} fromMs={fromMs} toMs={toMs} pool={pool} />
        ))}
      </section>
    </>
  )
}

function PauseEntry({ pause, reload }: { readonly pause: Pause; readonly reload: () => void }) {
  const { loop, scope, reason, by, sinceMs, untilMs } = pause
  const request = endOf(pause)
  const resume = () => {
    if (request === undefined) return
    asking.value = {
      title: `Resume ${loop} of ${scopeText(scope)}?`,
      text: [`The reason was: ${reason}`],
      button: 'Resume',
      fields: [],
      request: () => request,
      whenDone: reload,
    }
  }
  return (
    <>
      <div>
        <p class="pending-head">
          <Badge icon="pause" data-state="held">
            {loop}
          </Badge>
          <strong class="free">{scopeText(scope)}</strong>
        </p>
        <p class="free">{reason}</p>
        <p class="quiet-text">
          {by !== undefined && `by ${by} · `}
          {spanText(sinceMs, untilMs)}
        </p>
      </div>
      {canAct.value && request !== undefined && (
        <button type="button" onClick={resume}>
          <Icon name="play" />
          Resume
        </button>
      )}
    </>
  )
}

const scopeText = (scope: string) => (scope === 'all' ? 'all NodePools' : scope)

/** What ends a pause; undefined: the page cannot, the command line can. */
function endOf({ loop, scope }: Pause): ActionRequest | undefined {
  if (scope === 'all') return { kind: 'resume', loop }
  const [, nodePool] = /^nodepool (.+)$/.exec(scope) ?? []
  return nodePool === undefined ? undefined : { kind: 'resume', loop, nodePool }
}

type Pool = Calendar['pools'][number]
type Span = Pool['spans'][number]

interface WeekProps {
  readonly fromMs: number
  readonly toMs: number
  readonly pool: Pool
}

const dayMs = 86_400_000

/** How many nodes of a NodePool may be disrupted at each time of the week: a row for each set of reasons. */
function Week({ fromMs, toMs, pool }: WeekProps) {
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
        <DataTable
          caption={`Allowed disruptions of ${pool.nodePool}`}
          columns={spanColumns}
          rows={pool.spans}
          keyOf={({ fromMs: at, reasons }) => `${at}${reasonText(reasons)}`}
        />
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

const spanColumns: readonly Column<Span>[] = [
  ['From', ({ fromMs }) => momentTime(fromMs)],
  ['To', ({ toMs }) => momentTime(toMs)],
  ['Reasons', ({ reasons }) => reasonText(reasons)],
  ['Nodes', ({ allowed }) => allowed, 'number'],
  ['Limited by', ({ limitedBy }) => limitedBy, 'free'],
]
