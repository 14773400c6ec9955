import { useEffect, useRef, useState } from 'preact/hooks'
import { type Answers, type Asking, act, asking, outcome } from '../state/asking.ts'
import { pools } from '../state/cluster.ts'
import { Icon, Select } from './elements.tsx'

const hour = 3_600_000
const times = [
  [hour / 2, '30 minutes'],
  [hour, '1 hour'],
  [4 * hour, '4 hours'],
  [24 * hour, '1 day'],
  [7 * 24 * hour, '7 days'],
  [0, 'until somebody ends it'],
].map(([ms, name]) => [String(ms), String(name)] as const)

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
        {open.fields.includes('time') && (
          <Select
            id="answer-time"
            label="For"
            options={times}
            chosen={String(answers.forMs)}
            choose={(ms) => set({ forMs: Number(ms) })}
          />
        )}
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
  readonly answers: Answers
  readonly set: (more: Partial<Answers>) => void
}

function Scope({ answers, set }: FieldProps) {
  const isProvisioning = answers.loop === 'provisioning'
  return (
    <>
      <Select
        id="answer-loop"
        label="What"
        options={[
          ['disruption', 'Disruption: no node is removed or replaced by choice'],
          ['provisioning', 'Provisioning: no node is launched'],
        ]}
        chosen={answers.loop}
        choose={(value) => set({ loop: value === 'disruption' ? 'disruption' : 'provisioning' })}
      />
      <Select
        id="answer-pool"
        label="Where"
        options={[
          ['', 'All NodePools'],
          ...pools.value.filter(({ name }) => name !== '').map(({ name }) => [name, name] as const),
        ]}
        chosen={isProvisioning ? '' : answers.nodePool}
        isDisabled={isProvisioning}
        choose={(nodePool) => set({ nodePool })}
      />
    </>
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
