// The time, and amounts and times as the page writes them.
import { computed, signal } from '@preact/signals'
import { ago, Times } from '../../../document/words.ts'

/** The time, for ages: coarse, so that little is drawn again. */
export const now = signal(Date.now())

export function startClock(): void {
  setInterval(() => {
    now.value = Date.now()
  }, 10_000)
}

/** How long ago something was. */
export const age = (sinceMs: number) => ago(now.value - sinceMs)

const times = computed(() => new Times(now.value))

/** Returns a text with its times as people read them. */
export const readable = (text: string) => times.value.text(text)
export const readableTime = (ms: number) => times.value.time(ms)

/** Returns since when something lasts, and until when. */
export function spanText(sinceMs: number, untilMs: number | undefined): string {
  const iso = (ms: number) => new Date(ms).toISOString()
  return readable(`since ${iso(sinceMs)} · until ${untilMs === undefined ? 'somebody ends it' : iso(untilMs)}`)
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
