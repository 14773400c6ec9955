import type { Signal } from '@preact/signals'

const spans: readonly (readonly [days: number, name: string])[] = [
  [1, '1 day'],
  [7, '7 days'],
  [30, '30 days'],
]

/** How far back a page looks. */
export function DaysChoice({ days }: { readonly days: Signal<number> }) {
  return (
    <fieldset class="choice">
      <legend class="unseen">Time</legend>
      {spans.map(([value, name]) => (
        <label key={value}>
          <input
            type="radio"
            name="days"
            checked={days.value === value}
            onChange={() => {
              days.value = value
            }}
          />
          <span>{name}</span>
        </label>
      ))}
    </fieldset>
  )
}
