import { signal } from '@preact/signals'
import { counted, dollars } from '../../../document/words.ts'
import type { Decision, Decisions } from '../../contract.ts'
import { Badge, DaysChoice, type IconName, Loaded, Select, TemporalLink } from '../parts/elements.tsx'
import { useResource } from '../state/api.ts'
import { pools } from '../state/cluster.ts'
import { clockTime, dayName, now, readable, readableTime } from '../state/format.ts'
import { nodeLink } from '../state/route.ts'

type Kind = Decision['kind']

const days = signal(1)
const shown = signal<Kind | 'all'>('all')

const kinds: readonly (readonly [Kind, IconName, string])[] = [
  ['launch', 'up', 'Launch'],
  ['disruption', 'down', 'Disruption'],
  ['end', 'square', 'End'],
]
const outcomes: Readonly<Record<Decision['outcome'], readonly [IconName, string]>> = {
  running: ['ring', 'runs'],
  done: ['check', 'done'],
  undone: ['half', 'undone'],
  failed: ['cross', 'failed'],
}

/** What Joiner did and why, the latest first. */
export function DecisionsPage() {
  const halfMinute = Math.floor(now.value / 30_000)
  const decisions = useResource<Decisions>(`api/decisions?days=${days.value}`, [pools.value, halfMinute])
  return (
    <>
      <header class="page-head">
        <h1>Decisions</h1>
        <div class="tools">
          <Select
            look="beside"
            id="kind"
            label="Kind"
            options={[['all', 'All'], ...kinds.map(([kind, , name]) => [kind, name] as const)]}
            chosen={shown.value}
            choose={(value) => {
              shown.value = kinds.find(([kind]) => kind === value)?.[0] ?? 'all'
            }}
          />
          <DaysChoice days={days} />
        </div>
      </header>
      <Loaded resource={decisions} what="the decisions">
        {(known) => <Feed known={known} />}
      </Loaded>
    </>
  )
}

function Feed({ known: { decisions, sinceMs } }: { readonly known: Decisions }) {
  const list = decisions.filter(({ kind }) => shown.value === 'all' || kind === shown.value)
  const byDay = [...Map.groupBy(list, ({ atMs }) => dayName(atMs))]
  return (
    <>
      {list.length === 0 && <p class="empty">Nothing was decided in this time.</p>}
      {byDay.map(([day, ofDay]) => (
        <section key={day} aria-label={day}>
          <h2 class="day">{day}</h2>
          <ol class="feed card">
            {ofDay.map((decision) => (
              <li key={`${decision.workflowId}${decision.kind}${decision.atMs}`}>
                <Entry decision={decision} />
              </li>
            ))}
          </ol>
        </section>
      ))}
      <p class="quiet-text">Temporal keeps everything since {readableTime(sinceMs)}.</p>
    </>
  )
}

const mostNodes = 6

function Entry({ decision }: { readonly decision: Decision }) {
  const { atMs, kind, text, reason, nodes, outcome, workflowId } = decision
  const [, icon, name] = kinds.find(([each]) => each === kind) ?? ['', 'dash', kind]
  const [outcomeIcon, outcomeName] = outcomes[outcome]
  return (
    <article class="entry">
      <time class="number quiet-text" dateTime={new Date(atMs).toISOString()} title={readableTime(atMs)}>
        {clockTime(atMs)}
      </time>
      <Badge icon={icon} class="badge kind" data-kind={kind}>
        {name}
      </Badge>
      <div class="entry-text">
        <p>{readable(text)}</p>
        <p class="quiet-text">
          {reason !== '' && <span>{readable(reason)}</span>}
          {nodes.slice(0, mostNodes).map((node) => (
            <a key={node} href={nodeLink(node)}>
              {node}
            </a>
          ))}
          {nodes.length > mostNodes && <span>and {counted(nodes.length - mostNodes, 'more', 'more')}</span>}
          <TemporalLink workflowId={workflowId} />
        </p>
      </div>
      <Change decision={decision} />
      <Badge icon={outcomeIcon} data-outcome={outcome}>
        {outcomeName}
      </Badge>
    </article>
  )
}

/** Dollars an hour before and after. */
function Change({ decision: { before, after } }: { readonly decision: Decision }) {
  if (before === undefined || after === undefined) return <span />
  const difference = after - before
  return (
    <span class="change number">
      <span class="quiet-text">
        {dollars(before)} → {dollars(after)}
      </span>
      <strong data-saves={difference < 0}>
        {difference > 0 ? '+' : ''}
        {dollars(difference)}/h
      </strong>
    </span>
  )
}
