// How a count, a time and a time span, an amount and a share are written, in a terminal, in a file and on the page of `joiner ui`.
import { printable } from '../../core/values/printable.ts'

export { shortened } from '../../core/values/texts.ts'

/** Hours of a month, as clouds count them in their price lists. */
export const hoursOfMonth = 730

const minute = 60
const hour = 60 * minute
const day = 24 * hour

/** Returns a time span as kubectl does: `45s`, `1m30s`, `12m`, `5h10m`, `3d4h`. Seconds stop to matter at ten minutes. */
export function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < minute) return `${seconds}s`
  if (seconds < 10 * minute) return inTwo(seconds, [minute, 'm'], [1, 's'])
  if (seconds < hour) return `${Math.floor(seconds / minute)}m`
  return seconds < day ? inTwo(seconds, [hour, 'h'], [minute, 'm']) : inTwo(seconds, [day, 'd'], [hour, 'h'])
}

type Unit = readonly [seconds: number, name: string]

function inTwo(seconds: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((seconds % large) / small)
  return `${Math.floor(seconds / large)}${largeName}${rest === 0 ? '' : `${rest}${smallName}`}`
}

/** Returns a measured time span, with tenths of a second below ten: `0.3s`, `9.9s`, `1m30s`. */
export function latency(ms: number): string {
  const tenths = Math.round(ms / 100)
  return tenths < 100 ? `${tenths / 10}s` : ago(ms)
}

/** Returns an amount without a sign of the currency: `1,234.50`, and below 1 with three digits that count: `0.192`, `0.00123`. */
export function usd(amount: number): string {
  const digits = Math.abs(amount) >= 1 || amount === 0 ? 2 : 2 - Math.floor(Math.log10(Math.abs(amount)))
  const most = Math.max(2, Math.min(6, digits))
  const text = amount.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: most })
  return text === '-0.00' ? '0.00' : text
}

/** Returns an amount with its sign, in whole dollars from a thousand on: `$0.192`, `-$2.35`, `$8,083`. */
export function dollars(amount: number): string {
  const size = Math.abs(amount)
  return `${amount < 0 && usd(amount) !== '0.00' ? '-' : ''}$${size >= 1000 ? Math.round(size).toLocaleString('en-US') : usd(size)}`
}

/** Returns what an hour's price comes to in a month: `1,234.50`. */
export function monthly(pricePerHour: number): string {
  return usd(Number((pricePerHour * hoursOfMonth).toFixed(2)))
}

/** Returns node-hours: `9.50`, and whole ones from ten on. */
export function hoursText(hours: number): string {
  const digits = hours < 10 ? 2 : 0
  return hours.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** Returns a share: `33%`, `0.4%`; a dash where it is not known, or a part of nothing. */
export function percent(part: number | undefined, whole = 1): string {
  if (part === undefined || whole <= 0) return '-'
  const share = (100 * part) / whole
  return `${share < 1 ? Math.round(share * 10) / 10 : Math.round(share)}%`
}

/** Returns a share behind an amount, such as ` (33%)`; nothing where the whole is nothing. */
export function shareText(part: number, whole: number): string {
  return whole > 0 ? ` (${percent(part, whole)})` : ''
}

/** Returns `1 node`, `2 nodes` or `1,200 nodes`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`
}

/** Returns what there is: `condition && text` is none where the condition does not hold. */
export function present<T>(...all: readonly (T | false | undefined)[]): readonly T[] {
  return all.filter((one): one is T => one !== false && one !== undefined)
}

/** Returns a few of many names, which anybody may have chosen. */
export function few(names: readonly string[], most: number): string {
  const shown = names.slice(0, most).map(printable).join(', ')
  return names.length <= most ? shown : `${shown} and ${names.length - most} more`
}

/** RFC 3339 times in UTC, with the word before them; not those of a command, a manifest or an example. */
const moments =
  /(?<![\w"'=.:-]|such as |\bas |--[\w-]+ )(?:\b(since|until|at|from|by) )?\b(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z)(?![\w"'])/g

/** Writes times for people at one moment. */
export class Times {
  /** Name of the zone, such as `Europe/Berlin`. */
  readonly zone: string
  readonly #now: number
  readonly #formats = new Map<string, Intl.DateTimeFormat>()

  /** `now`: epoch ms. */
  constructor(now: number, zone: string = Intl.DateTimeFormat().resolvedOptions().timeZone) {
    this.#now = now
    this.zone = zone
  }

  /** `Mon 23 Nov 09:00`. */
  utc(ms: number): string {
    return this.#text('UTC', ms)
  }

  local(ms: number): string {
    return this.#text(this.zone, ms)
  }

  /** Whether the zone's clocks show something else than UTC at one of these times. */
  differs(times: readonly number[]): boolean {
    return times.some((ms) => this.utc(ms) !== this.local(ms))
  }

  /** `2h3m ago (10:57 UTC, 11:57 Berlin)`, `in 5m (...)`; with its day unless that is today. */
  time(ms: number): string {
    return this.#time(ms, undefined)
  }

  /** Returns a text with its RFC 3339 times as people read them: `since ...` is `for 2h3m (since 10:57 UTC, 11:57 Berlin)`. */
  text(text: string): string {
    return text.replaceAll(moments, (whole: string, lead: string | undefined, time: string) => {
      const ms = Date.parse(time)
      return Number.isNaN(ms) ? whole : this.#time(ms, lead)
    })
  }

  #time(ms: number, lead: string | undefined): string {
    const clocks = this.#clocks(ms)
    const isPast = ms <= this.#now
    const span = ago(Math.abs(this.#now - ms))
    if (lead === 'since' && isPast) return `for ${span} (since ${clocks})`
    if (lead === 'until' && !isPast) return `for ${span} more (until ${clocks})`
    if (lead === 'by' && !isPast) return `within ${span} (by ${clocks})`
    if (lead === 'from' && !isPast) return `in ${span} (from ${clocks})`
    const at = isPast ? `${span} ago (${clocks})` : `in ${span} (${clocks})`
    return lead === undefined || lead === 'at' ? at : `${lead} ${at}`
  }

  #clocks(ms: number): string {
    const [utc, local] = [this.utc(ms), this.local(ms)]
    const shown = withoutDay(utc, this.utc(this.#now))
    return utc === local ? `${shown} UTC` : `${shown} UTC, ${withoutDay(local, utc)} ${placeOf(this.zone)}`
  }

  #text(zone: string, ms: number): string {
    const format = this.#formats.get(zone) ?? formatOf(zone)
    this.#formats.set(zone, format)
    return textOf(format, ms)
  }
}

const timeLength = ' 09:00'.length

/** Returns a time without its day, where another is of the same day. */
function withoutDay(text: string, other: string): string {
  return text.slice(0, -timeLength) === other.slice(0, -timeLength) ? text.slice(1 - timeLength) : text
}

/** `Berlin` of `Europe/Berlin`. */
const placeOf = (zone: string) => zone.slice(zone.lastIndexOf('/') + 1).replaceAll('_', ' ')

function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    day: '2-digit',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
}

function textOf(format: Intl.DateTimeFormat, ms: number): string {
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
  const day = [parts.get('weekday'), parts.get('day'), parts.get('month')?.slice(0, 3)].join(' ')
  return `${day} ${parts.get('hour')}:${parts.get('minute')}`
}
