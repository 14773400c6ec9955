import { useEffect, useRef, useState } from 'preact/hooks'
import { type Answers, type Asking, act, asking, outcome } from '../state/asking.ts'
import { pools } from '../state/cluster.ts'
import { Icon } from './icon.tsx'

const hour = 3_600_000
const times: readonly (readonly [ms: number, name: string])[] = [
  [hour / 2, '30 minutes'],
  [hour, '1 hour'],
  [4 * hour, '4 hours'],
  [24 * hour, '1 day'],
  [7 * 24 * hour, '7 days'],
  [0, 'until somebody ends it'],
]

/** Asks whether an action is meant, and reports what came of the last one. */
export function ActionDialog() {
  const open = asking.value
  return (
    <>
      {open !== undefined && <Question key={open.title} open={open} />}
      <Outcome />
    </>
  )
}

function Question({ open }: { readonly open: Asking }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [answers, setAnswers] = useState<Answers>({ reason: '', forMs: hour, loop: 'disruption', nodePool: '' })
  const [isSent, setSent] = useState(false)
  useEffect(() => dialog.current?.showModal(), [])
  const set = (more: Partial<Answers>) => setAnswers((old) => ({ ...old, ...more }))
  return (
    <dialog
      ref={dialog}
      aria-labelledby="question"
      onClose={() => {
        asking.value = undefined
      }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          setSent(true)
          void act(open, answers)
        }}
      >
        <h2 id="question">{open.title}</h2>
        {open.text.map((line) => (
          <p key={line}>{line}</p>
        ))}
        {open.fields.includes('scope') && <Scope answers={answers} set={set} />}
        {open.fields.includes('reason') && (
          <div class="field">
            <label for="answer-reason">Reason</label>
            <input
              id="answer-reason"
              type="text"
              required
              maxLength={200}
              value={answers.reason}
              onInput={(event) => set({ reason: event.currentTarget.value })}
            />
          </div>
        )}
        {open.fields.includes('time') && <TimeField set={set} />}
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="main" disabled={isSent}>
            {isSent ? 'Working …' : open.button}
          </button>
        </div>
      </form>
    </dialog>
  )
}

interface FieldProps {
  readonly set: (more: Partial<Answers>) => void
}

function Scope({ answers, set }: FieldProps & { readonly answers: Answers }) {
  return (
    <>
      <div class="field">
        <label for="answer-loop">What</label>
        <select
          id="answer-loop"
          value={answers.loop}
          onChange={(event) =>
            set({ loop: event.currentTarget.value === 'disruption' ? 'disruption' : 'provisioning' })
          }
        >
          <option value="disruption">Disruption: no node is removed or replaced by choice</option>
          <option value="provisioning">Provisioning: no node is launched</option>
        </select>
      </div>
      <div class="field">
        <label for="answer-pool">Where</label>
        <select
          id="answer-pool"
          disabled={answers.loop === 'provisioning'}
          value={answers.loop === 'provisioning' ? '' : answers.nodePool}
          onChange={(event) => set({ nodePool: event.currentTarget.value })}
        >
          <option value="">All NodePools</option>
          {pools.value
            .filter(({ name }) => name !== '')
            .map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
        </select>
      </div>
    </>
  )
}

function TimeField({ set }: FieldProps) {
  return (
    <div class="field">
      <label for="answer-time">For</label>
      <select
        id="answer-time"
        onChange={(event) => {
          const ms = Number(event.currentTarget.value)
          set({ forMs: ms })
        }}
      >
        {times.map(([ms, name]) => (
          <option key={ms} value={ms} selected={ms === hour}>
            {name}
          </option>
        ))}
      </select>
    </div>
  )
}

function Outcome() {
  const said = outcome.value
  return (
    <div class="outcome" role="status" aria-live="polite" data-done={said?.isDone}>
      {said !== undefined && (
        <>
          <Icon name={said.isDone ? 'check' : 'alert'} />
          <span>{said.message}</span>
          <button
            type="button"
            class="quiet round"
            aria-label="Close this message"
            onClick={() => {
              outcome.value = undefined
            }}
          >
            <Icon name="cross" />
          </button>
        </>
      )}
    </div>
  )
}
