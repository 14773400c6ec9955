import { parseGoDuration } from '../../values/duration.ts'
import { printable } from '../../values/printable.ts'

/** When a budget's window opens: at the minutes that the fields allow, or at a fixed interval (reference/karpenter-core.md 4.10). Always in UTC. */
export type CronSchedule =
  | { readonly kind: 'fields'; readonly fields: readonly CronField[] }
  | { readonly kind: 'every'; readonly milliseconds: number }

interface CronField {
  readonly allowed: ReadonlySet<number>
  /** Whether it is written as any value without a step: then only the other one of day of month and day of week decides. */
  readonly any: boolean
}

interface FieldBounds {
  readonly name: string
  readonly min: number
  readonly max: number
  readonly names: readonly string[]
}

const bounds: readonly FieldBounds[] = [
  { name: 'minute', min: 0, max: 59, names: [] },
  { name: 'hour', min: 0, max: 23, names: [] },
  { name: 'day of the month', min: 1, max: 31, names: [] },
  {
    name: 'month',
    min: 1,
    max: 12,
    names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  { name: 'day of the week', min: 0, max: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
]

const macros: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
])

/** A list of every minute of an hour has 170 characters. */
const longestSchedule = 1000
const second = 1000
const minute = 60 * second
const day = 24 * 60 * minute
const yearsAhead = 5

/** Returns the first time after `after` at which a schedule fires, both in epoch milliseconds; `never` when there is none in the next five years. */
export function nextTime(schedule: CronSchedule, after: number): number | 'never' {
  if (schedule.kind === 'every') return Math.floor(after / second) * second + schedule.milliseconds
  return nextFieldTime(schedule.fields, (Math.floor(after / minute) + 1) * minute)
}

/** Parses five fields, a macro, or `@every` with a duration. Undefined when the text is none of these or very long. Time zones are rejected. */
export function parseCron(text: string): CronSchedule | undefined {
  if (text.length > longestSchedule) return undefined
  const trimmed = text.trim()
  if (trimmed.startsWith('@every ')) {
    const nanoseconds = parseGoDuration(trimmed.slice('@every '.length))
    if (nanoseconds === undefined) return undefined
    return { kind: 'every', milliseconds: Math.max(1, Number(nanoseconds / 1_000_000_000n)) * second }
  }
  const parts = (macros.get(trimmed) ?? trimmed).split(/\s+/)
  if (parts.length !== bounds.length) return undefined
  const fields = parts.map((part, index) => parseField(part, bounds[index] as FieldBounds))
  return fields.every((field) => field !== undefined) ? { kind: 'fields', fields } : undefined
}

/** Returns the error in a schedule text with the remedy; undefined when it is valid. */
export function cronProblem(text: string): string | undefined {
  if (parseCron(text) !== undefined) return undefined
  if (text.length > longestSchedule) return `it has ${text.length} characters; write at most ${longestSchedule}`
  const trimmed = text.trim()
  if (/^(CRON_)?TZ=/.test(trimmed)) return 'schedules are in UTC and take no time zone; remove it and shift the hours'
  if (trimmed.startsWith('@every '))
    return `"${printable(trimmed.slice('@every '.length))}" is not a duration such as 1h30m`
  if (trimmed.startsWith('@')) return `write @every with a duration, or one of ${[...macros.keys()].join(', ')}`
  const parts = trimmed === '' ? [] : trimmed.split(/\s+/)
  if (parts.length !== bounds.length)
    return `it has ${parts.length} fields; write five: ${bounds.map(({ name }) => name).join(', ')}`
  const at = parts.findIndex((part, index) => parseField(part, bounds[index] as FieldBounds) === undefined)
  const { name, min, max, names } = bounds[at] as FieldBounds
  const words = names.length === 0 ? '' : ` or ${names[0]}-${names.at(-1)}`
  return `its ${name} "${printable(parts[at] ?? '')}" is not within ${min}-${max}${words}${name.endsWith('week') ? '; Sunday is 0' : ''}`
}

function parseField(text: string, limits: FieldBounds): CronField | undefined {
  const allowed = new Set<number>()
  let any = false
  for (const part of text.split(',').filter((one) => one !== '')) {
    const range = parseRange(part, limits)
    if (range === undefined) return undefined
    for (let value = range.from; value <= range.to; value += range.step) allowed.add(value)
    any ||= range.any
  }
  return { allowed, any }
}

interface Range {
  readonly from: number
  readonly to: number
  readonly step: number
  readonly any: boolean
}

/** `*`, `?`, `a`, `a-b`, each also with `/step`; `a/step` runs to the end. */
function parseRange(text: string, limits: FieldBounds): Range | undefined {
  const [range = '', stepText, ...tooManySteps] = text.split('/')
  const [low = '', high, ...tooManyEnds] = range.split('-')
  const step = stepText === undefined ? 1 : parseNumber(stepText)
  if (tooManySteps.length > 0 || step === undefined || step === 0) return undefined
  if (low === '*' || low === '?') return { from: limits.min, to: limits.max, step, any: step === 1 }
  const from = parseValue(low, limits)
  const to = high !== undefined ? parseValue(high, limits) : stepText === undefined ? from : limits.max
  if (tooManyEnds.length > 0 || from === undefined || to === undefined) return undefined
  return from >= limits.min && to <= limits.max && from <= to ? { from, to, step, any: false } : undefined
}

function parseValue(text: string, { min, names }: FieldBounds): number | undefined {
  const index = names.indexOf(text.toLowerCase())
  return index < 0 ? parseNumber(text) : index + min
}

function parseNumber(text: string): number | undefined {
  return /^\+?[0-9]+$/.test(text) ? Number(text) : undefined
}

function nextFieldTime(fields: readonly CronField[], from: number): number | 'never' {
  const [minutes, hours, monthDays, months, weekDays] = fields as [
    CronField,
    CronField,
    CronField,
    CronField,
    CronField,
  ]
  // A field such as "," allows nothing; searching each day would be in vain.
  if (hours.allowed.size === 0 || minutes.allowed.size === 0) return 'never'
  const lastYear = new Date(from).getUTCFullYear() + yearsAhead
  for (let start = from; ; start = (Math.floor(start / day) + 1) * day) {
    const date = new Date(start)
    if (date.getUTCFullYear() > lastYear) return 'never'
    const onMonthDay = monthDays.allowed.has(date.getUTCDate())
    const onWeekDay = weekDays.allowed.has(date.getUTCDay())
    const onDay = monthDays.any || weekDays.any ? onMonthDay && onWeekDay : onMonthDay || onWeekDay
    const time = onDay && months.allowed.has(date.getUTCMonth() + 1) ? timeOfDay(hours, minutes, date) : undefined
    if (time !== undefined) return time
  }
}

/** Returns the first allowed minute of the rest of a day. */
function timeOfDay(hours: CronField, minutes: CronField, from: Date): number | undefined {
  const midnight = Math.floor(from.getTime() / day) * day
  const firstMinute = from.getUTCHours() * 60 + from.getUTCMinutes()
  for (let at = firstMinute; at < 24 * 60; at++) {
    if (hours.allowed.has(Math.floor(at / 60)) && minutes.allowed.has(at % 60)) return midnight + at * minute
  }
  return undefined
}
