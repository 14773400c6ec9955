import type { Signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { percent } from '../../../document/words.ts'
import type { Resource } from '../state/api.ts'
import { readable } from '../state/format.ts'
import { session } from '../state/stream.ts'

/** Drawn on 16 by 16 with a line of 1.6. */
const paths = {
  up: 'M8 13V3.5M4 7.5l4-4 4 4',
  half: 'M8 2.5a5.5 5.5 0 1 1 0 11z M8 2.5a5.5 5.5 0 0 0 0 11',
  ring: 'M8 2.5a5.5 5.5 0 1 1-5.5 5.5',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  down: 'M8 3v9.5M4 8.5l4 4 4-4',
  cross: 'M4 4l8 8M12 4l-8 8',
  square: 'M4 4h8v8H4z',
  dash: 'M3.5 8h9',
  clock: 'M8 2.5a5.5 5.5 0 1 0 .01 0M8 5v3.2l2 1.6',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.5v9l7-4.5z',
  lock: 'M4 7.5h8v6H4zM5.5 7.5V5.2a2.5 2.5 0 0 1 5 0v2.3',
  alert: 'M8 2.5l6 11H2zM8 6.5v3.2M8 11.4v.4',
  out: 'M6 3.5H3.5v9h9V10M9 3.5h3.5V7M12.2 3.8L7.5 8.5',
  auto: 'M8 2.5a5.5 5.5 0 1 0 .01 0M8 2.5v11a5.5 5.5 0 0 0 0-11z',
  light:
    'M8 5.2a2.8 2.8 0 1 0 .01 0M8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2M11.8 11.8L13 13M3 13l1.2-1.2M11.8 4.2L13 3',
  dark: 'M12.8 9.6A5.3 5.3 0 0 1 6.4 3.2a5.3 5.3 0 1 0 6.4 6.4z',
} as const

export type IconName = keyof typeof paths

/** A sign beside a word that says the same, so nobody hears it. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" data-icon={name} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  )
}

interface BadgeProps {
  readonly icon: IconName
  readonly class?: string
  readonly children: ComponentChildren
}

/** What something is, as a sign and as words; attributes beside these are those of the element. */
export function Badge({ icon, class: look = 'badge', children, ...more }: BadgeProps) {
  return (
    <span class={look} {...more}>
      <Icon name={icon} />
      {children}
    </span>
  )
}

interface TextsProps {
  readonly label?: string
  readonly look: string
  readonly icon?: IconName
  readonly texts: readonly string[]
}

/** Texts below each other; nothing where there are none. */
export function Texts({ label, look, icon, texts }: TextsProps) {
  if (texts.length === 0) return null
  return (
    <ul class={look} aria-label={label}>
      {texts.map((text) => (
        <li key={text}>
          {icon !== undefined && <Icon name={icon} />}
          {readable(text)}
        </li>
      ))}
    </ul>
  )
}

interface FigureProps {
  readonly name: string
  readonly value: string
  readonly more?: string
  readonly isLoud?: boolean
}

/** One number of a list of numbers. */
export function Figure({ name, value, more, isLoud = false }: FigureProps) {
  return (
    <div class="figure" data-loud={isLoud}>
      <dt>{name}</dt>
      <dd class="number">{value}</dd>
      {more !== undefined && <dd class="more">{more}</dd>}
    </div>
  )
}

interface MeterProps {
  readonly name: string
  readonly part: number
  readonly whole: number
  /** In words, such as `3.2 of 4 cores`. */
  readonly text?: string
}

/** A share as a bar and as a number. */
export function Meter({ name, part, whole, text }: MeterProps) {
  const share = whole > 0 ? Math.min(1, part / whole) : 0
  return (
    <div class="meter" title={text}>
      <span class="meter-name">{name}</span>
      <span class="meter-track" aria-hidden="true">
        <span class="meter-fill" data-full={share > 0.9} style={{ width: `${share * 100}%` }} />
      </span>
      <span class="meter-value">{percent(part, whole)}</span>
    </div>
  )
}

interface LoadedProps<T> {
  readonly resource: Resource<T>
  /** What is read, such as `the cost`. */
  readonly what: string
  readonly children: (value: T) => ComponentChildren
}

/** What the server said, or why it did not. */
export function Loaded<T>({ resource: { value, problem, reload }, what, children }: LoadedProps<T>) {
  return (
    <>
      {problem !== undefined && (
        <p class="problem" role="alert">
          <Icon name="alert" />
          <span>{problem}</span>
          <button type="button" onClick={reload}>
            Try again
          </button>
        </p>
      )}
      {value === undefined ? problem === undefined && <p class="waiting">Reading {what} …</p> : children(value)}
    </>
  )
}

interface ChoiceProps<Value> {
  readonly legend: string
  readonly name: string
  readonly options: readonly (readonly [value: Value, name: string])[]
  readonly chosen: Value
  readonly choose: (value: Value) => void
}

/** One of few, all of which are seen. */
export function Choice<Value extends string | number>({ legend, name, options, chosen, choose }: ChoiceProps<Value>) {
  return (
    <fieldset class="choice">
      <legend class="unseen">{legend}</legend>
      {options.map(([value, text]) => (
        <label key={value}>
          <input type="radio" name={name} checked={chosen === value} onChange={() => choose(value)} />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  )
}

const spans = [
  [1, '1 day'],
  [7, '7 days'],
  [30, '30 days'],
] as const

/** How far back a page looks. */
export function DaysChoice({ days }: { readonly days: Signal<number> }) {
  const choose = (value: number) => {
    days.value = value
  }
  return <Choice<number> legend="Time" name="days" options={spans} chosen={days.value} choose={choose} />
}

interface SelectProps {
  readonly id: string
  readonly label: string
  readonly options: readonly (readonly [value: string, name: string])[]
  readonly chosen: string
  readonly isDisabled?: boolean
  /** Class of the element around both. */
  readonly look?: string
  readonly choose: (value: string) => void
}

/** One of many, with its name before it. */
export function Select({ id, label, options, chosen, isDisabled = false, look = 'field', choose }: SelectProps) {
  return (
    <div class={look}>
      <label for={id}>{label}</label>
      <select id={id} value={chosen} disabled={isDisabled} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </div>
  )
}

/** The workflow behind what is shown, where somebody said where Temporal's own page is. */
export function TemporalLink({ workflowId }: { readonly workflowId: string | undefined }) {
  const base = session.value?.temporalUi
  if (workflowId === undefined || base === undefined || !/^https?:\/\//.test(base)) return null
  return (
    <a class="outward" href={`${base}/${encodeURIComponent(workflowId)}`} target="_blank" rel="noreferrer">
      Workflow in Temporal
      <Icon name="out" />
    </a>
  )
}
