// How a count, a time span, an amount and a share are written, in a terminal, in a file and on the page of `joiner ui`.
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
