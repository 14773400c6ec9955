import { signal } from '@preact/signals'
import { counted, dollars } from '../../../document/words.ts'
import type { PlanPreview } from '../../contract.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Figure, Icon } from '../parts/elements.tsx'
import { messageOf, postJson } from '../state/api.ts'
import { asking } from '../state/asking.ts'
import { readable } from '../state/format.ts'
import { nodeLink } from '../state/route.ts'
import { canAct } from '../state/stream.ts'

type State =
  | { readonly kind: 'none' | 'asked' }
  | { readonly kind: 'plan'; readonly plan: PlanPreview }
  | { readonly kind: 'failed'; readonly message: string }

const state = signal<State>({ kind: 'none' })

async function ask(): Promise<void> {
  state.value = { kind: 'asked' }
  try {
    state.value = { kind: 'plan', plan: await postJson<PlanPreview>('api/plan') }
  } catch (error) {
    state.value = { kind: 'failed', message: messageOf(error) }
  }
}

/** What a consolidation would do now. */
export function PlanPage() {
  const { value } = state
  return (
    <>
      <header class="page-head">
        <div>
          <h1>Plan</h1>
          <p class="quiet-text">What Joiner would remove and replace now to save money. Asking changes nothing.</p>
        </div>
        <button type="button" class="main" disabled={value.kind === 'asked'} onClick={() => void ask()}>
          {value.kind === 'asked' ? 'Planning …' : value.kind === 'none' ? 'Ask for a plan' : 'Ask again'}
        </button>
      </header>
      <div role="status" class="stack">
        {value.kind === 'asked' && <p class="waiting">The planner looks at all nodes …</p>}
        {value.kind === 'failed' && (
          <p class="problem">
            <Icon name="alert" />
            {value.message}
          </p>
        )}
        {value.kind === 'plan' && <Preview plan={value.plan} />}
      </div>
    </>
  )
}

function Preview({ plan }: { readonly plan: PlanPreview }) {
  const { commands, before, after, text } = plan
  const [removed, created, moved] = [
    sum(commands, ({ removes }) => removes.length),
    sum(commands, ({ creates }) => creates.length),
    sum(commands, ({ pods }) => pods),
  ]
  const apply = () => {
    asking.value = {
      title: 'Apply this plan?',
      text: [
        `It removes ${counted(removed, 'node')}, creates ${counted(created, 'node')} and moves ${counted(moved, 'pod')}.`,
        'Each command is checked again before it starts; one that no longer holds is not carried out.',
      ],
      button: 'Apply',
      fields: [],
      request: () => ({ kind: 'apply', plan: plan.id }),
      whenDone: () => {
        state.value = { kind: 'none' }
      },
    }
  }
  return (
    <>
      <dl class="totals">
        <Figure name="Now" value={`${dollars(before)} a month`} />
        <Figure name="After" value={`${dollars(after)} a month`} />
        <Figure name="Saved" value={`${dollars(before - after)} a month`} />
      </dl>
      {commands.length === 0 ? (
        <p class="empty">There is nothing to save.</p>
      ) : (
        <>
          <DataTable
            caption="Commands of the plan"
            columns={columns}
            rows={commands}
            keyOf={({ removes }, index) => `${removes[0] ?? ''}${index}`}
          />
          {canAct.value && (
            <p>
              <button type="button" onClick={apply}>
                Apply …
              </button>
            </p>
          )}
        </>
      )}
      {text.length > 0 && (
        <details class="card" open={commands.length === 0}>
          <summary>Which pods move where, and why other nodes stay</summary>
          <pre class="plan-text">{text.map(readable).join('\n')}</pre>
        </details>
      )}
    </>
  )
}

const sum = <T,>(list: readonly T[], of: (each: T) => number) => list.reduce((total, each) => total + of(each), 0)

const columns: readonly Column<PlanPreview['commands'][number]>[] = [
  ['Reason', ({ reason }) => reason],
  ['Method', ({ method }) => method],
  ['Removes', ({ removes }) => removes.map(listed), 'free'],
  ['Creates', ({ creates }) => (creates.length === 0 ? 'nothing' : creates.join(', ')), 'free'],
  ['Pods', ({ pods }) => pods, 'number'],
  ['Saves a month', ({ savings }) => dollars(savings), 'number'],
]

const listed = (key: string) => (
  <a key={key} class="listed" href={nodeLink(key)}>
    {key}
  </a>
)
