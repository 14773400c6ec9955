import { hourMs, type TimeRange } from './bill.ts'

/** What an hour of the clock cost; absent from a list: not known. */
export interface KnownHour {
  readonly atMs: number
  readonly usd: number
  /** The part of the hour that is known, in ms. */
  readonly knownMs: number
}

/** Shortest known time that a month can be told from. */
const leastMs = hourMs

/**
 * Returns the cost of the calendar month (UTC) of `now`: what is known of it, and the rest at the average of the known hours, the oldest of which is first.
 * Known hours before the first node are no part of the average, and nothing was before them. Undefined when less than an hour with nodes is known.
 */
export function forecastMonth(hours: readonly KnownHour[], now: number): number | undefined {
  const month = monthOf(now)
  const first = hours.findIndex(({ usd }) => usd > 0)
  const since = first < 0 ? hours : hours.slice(first)
  const knownMs = sum(since.map((hour) => hour.knownMs))
  if (knownMs < leastMs) return undefined
  const average = sum(since.map(({ usd }) => usd)) / knownMs
  const inMonth = since.filter(({ atMs }) => atMs >= month.fromMs && atMs < month.toMs)
  const wasNothing = hours.slice(0, Math.max(0, first)).some((hour) => hour.knownMs > 0)
  const fromMs = wasNothing ? Math.max(month.fromMs, since[0]?.atMs ?? 0) : month.fromMs
  const restMs = month.toMs - fromMs - sum(inMonth.map((hour) => hour.knownMs))
  return sum(inMonth.map(({ usd }) => usd)) + Math.max(0, restMs) * average
}

/** Returns the calendar month (UTC) that a time is in. */
function monthOf(ms: number): TimeRange {
  const date = new Date(ms)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return { fromMs: Date.UTC(year, month), toMs: Date.UTC(year, month + 1) }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
