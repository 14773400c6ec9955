import { useSignalEffect } from '@preact/signals'
import { type ComponentChildren, render } from 'preact'
import { useRef } from 'preact/hooks'
import { CalendarPage } from './pages/calendar.tsx'
import { ClusterPage } from './pages/cluster.tsx'
import { CostPage } from './pages/cost.tsx'
import { DecisionsPage } from './pages/decisions.tsx'
import { NodePage } from './pages/node.tsx'
import { PlanPage } from './pages/plan.tsx'
import { ActionDialog } from './parts/action-dialog.tsx'
import { Icon } from './parts/elements.tsx'
import { summary } from './state/cluster.ts'
import { now, readableTime, startClock } from './state/format.ts'
import { type Route, route } from './state/route.ts'
import { type Connection, connection, follow, readSession, session } from './state/stream.ts'
import { type Theme, theme } from './state/theme.ts'

const sections: readonly { readonly page: Route['page']; readonly href: string; readonly name: string }[] = [
  { page: 'cluster', href: '#/', name: 'Cluster' },
  { page: 'decisions', href: '#/decisions', name: 'Decisions' },
  { page: 'cost', href: '#/cost', name: 'Cost' },
  { page: 'calendar', href: '#/calendar', name: 'Pauses and budgets' },
  { page: 'plan', href: '#/plan', name: 'Plan' },
]

/** The frame of all pages: who this is, where to go, whether what is shown is true now. */
function App() {
  const main = useRef<HTMLElement>(null)
  useSignalEffect(() => {
    document.title = titleOf(route.value, session.value?.cluster)
  })
  const shown = useRef(route.peek())
  useSignalEffect(() => {
    // Who came by a link of the page hears where they are.
    if (route.value !== shown.current) main.current?.focus()
    shown.current = route.value
  })
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          main.current?.focus()
        }}
      >
        Skip to content
      </a>
      <header class="bar">
        <div class="brand">
          <img src="./icon.svg" alt="" width="24" height="24" />
          <span>
            <strong>Joiner</strong>
            <span class="cluster-name">{session.value?.cluster ?? ' '}</span>
          </span>
        </div>
        <nav aria-label="Pages">
          {sections.map(({ page, href, name }) => (
            <a key={page} href={href} aria-current={isHere(page, route.value) ? 'page' : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <div class="bar-end">
          {session.value?.isReadOnly === true && <span class="tag">Read-only</span>}
          <ConnectionState />
          <ThemeSwitch />
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {connection.value.kind === 'ended' ? <Ended message={connection.value.message} /> : pageOf(route.value)}
      </main>
      <ActionDialog />
    </>
  )
}

const isHere = (page: Route['page'], at: Route) => page === at.page || (page === 'cluster' && at.page === 'node')

function titleOf(at: Route, cluster = ''): string {
  const name = at.page === 'node' ? at.key : (sections.find(({ page }) => page === at.page)?.name ?? '')
  return [name, cluster, 'Joiner'].filter((part) => part !== '').join(' · ')
}

function pageOf(at: Route): ComponentChildren {
  switch (at.page) {
    case 'cluster':
      return <ClusterPage />
    case 'node':
      return <NodePage key={at.key} name={at.key} />
    case 'decisions':
      return <DecisionsPage />
    case 'cost':
      return <CostPage />
    case 'calendar':
      return <CalendarPage />
    case 'plan':
      return <PlanPage />
  }
}

function Ended({ message }: { readonly message: string }) {
  return (
    <section class="card lonely" role="alert">
      <h1>Nothing can be shown</h1>
      <p>{message}</p>
    </section>
  )
}

const next: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' }
const names: Readonly<Record<Theme, string>> = { auto: "the system's", light: 'light', dark: 'dark' }

function ThemeSwitch() {
  const { value } = theme
  return (
    <button
      type="button"
      class="quiet round"
      aria-label={`Colours: ${names[value]}. Change to ${names[next[value]]}.`}
      title={`Colours: ${names[value]}`}
      onClick={() => {
        theme.value = next[value]
      }}
    >
      <Icon name={value} />
    </button>
  )
}

const states: Readonly<Record<Connection['kind'], string>> = {
  connecting: 'Connecting',
  live: 'Live',
  lost: 'Reconnecting',
  ended: 'Ended',
}

/** Whether what the page shows is true now, as a dot and as a word. */
function ConnectionState() {
  const state = connection.value
  const seen = summary.value?.atMs
  const since = seen === undefined ? '' : `Shown as it was ${readableTime(seen)}.`
  const detail = state.kind === 'lost' || state.kind === 'ended' ? `${state.message} ${since}` : since
  return (
    <span class="connection" data-state={state.kind} title={now.value > 0 ? detail : ''}>
      <span class="dot" aria-hidden="true" />
      <span role="status">{states[state.kind]}</span>
    </span>
  )
}

const root = document.querySelector('#page')
if (root === null) throw new Error('index.html has no element #page')
render(<App />, root)
startClock()
if (await readSession()) follow(() => void readSession())
