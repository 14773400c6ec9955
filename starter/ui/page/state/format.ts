// Amounts and times as the page writes them.

/** `$0.00123`, `$0.192`, `$1.50`, `$8,083`: as many digits as matter. */
export function usd(amount: number): string {
  const size = Math.abs(amount)
  const most = size >= 1000 ? 0 : size >= 1 ? 2 : size >= 0.1 ? 3 : 5
  const text = size.toLocaleString('en-US', { minimumFractionDigits: Math.min(2, most), maximumFractionDigits: most })
  return `${amount < 0 ? '−' : ''}$${text}`
}

/** A share as whole percent; a dash where the whole is nothing. */
export function percent(part: number, whole: number): string {
  return whole > 0 ? `${Math.round((part / whole) * 100)} %` : '–'
}

export function cores(amount: number): string {
  if (amount > 0 && amount < 1) return `${Math.round(amount * 1000)}m`
  return amount.toLocaleString('en-US', { maximumFractionDigits: amount >= 1000 ? 0 : 1 })
}

/** Binary units, as Kubernetes writes them. */
export function bytes(amount: number): string {
  const units = ['B', 'Ki', 'Mi', 'Gi', 'Ti']
  let rest = amount
  let unit = 0
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024
    unit += 1
  }
  return `${rest >= 100 || unit === 0 ? Math.round(rest) : Math.round(rest * 10) / 10} ${units[unit]}`
}

const steps = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const

/** The two largest units: `2 d 4 h`, `35 s`. */
export function duration(ms: number): string {
  const first = steps.findIndex(([, length]) => ms >= length)
  if (first === -1) return '0 s'
  const [unit, length] = steps[first] as (typeof steps)[number]
  const whole = Math.floor(ms / length)
  const next = steps[first + 1]
  const rest = next === undefined ? 0 : Math.floor((ms % length) / next[1])
  return rest === 0 || next === undefined ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${next[0]}`
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const moment = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })
const longDay = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long' })
const shortDay = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric' })

/** Times of the browser's time zone. */
export const clockTime = (ms: number) => clock.format(ms)
export const hourTime = (ms: number) => hour.format(ms)
export const momentTime = (ms: number) => moment.format(ms)
export const dayName = (ms: number) => longDay.format(ms)
export const shortDayName = (ms: number) => shortDay.format(ms)

/** `1 node`, `2 nodes`. */
export const counted = (count: number, one: string, many = `${one}s`) =>
  `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`

/** Where an unbounded text would push a page apart. */
export const shortened = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text)
