import { ago } from '../../../document/words.ts'
import type { ActionRequest, Calendar } from '../../contract.ts'
import { Icon } from '../parts/icon.tsx'
import { Loaded } from '../parts/loaded.tsx'
import { Week } from '../parts/week.tsx'
import { asking } from '../state/asking.ts'
import { now } from '../state/clock.ts'
import { momentTime } from '../state/format.ts'
import { useResource } from '../state/resource.ts'
import { canAct } from '../state/session.ts'

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
          <span class="badge" data-state="held">
            <Icon name="pause" />
            {loop}
          </span>
          <strong class="free">{scopeText(scope)}</strong>
        </p>
        <p class="free">{reason}</p>
        <p class="quiet-text">
          {by !== undefined && `by ${by} · `}
          since {momentTime(sinceMs)} ·{' '}
          {untilMs === undefined
            ? 'until somebody ends it'
            : `until ${momentTime(untilMs)}, in ${ago(Math.max(0, untilMs - now.value))}`}
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
