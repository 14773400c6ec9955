import { formatGoDuration } from '../../../core/values/duration.ts'
import { shortened } from '../../../core/values/shortened.ts'
import type { Cell, Inline } from './document.ts'

/** Names and messages are shorter unless somebody forged them. */
const longestForeign = 260

/** Returns a text that somebody else chose. */
export function foreign(text: string): Inline {
  return { foreign: shortened(text, longestForeign) }
}

export function number(value: number): Cell {
  return { number: value.toLocaleString('en-US') }
}

/** Returns a duration: tenths of a second below 10 s, else seconds. */
export function durationText(ms: number): string {
  const unit = ms < 10_000 ? 100 : 1000
  return formatGoDuration(BigInt(Math.round(ms / unit) * unit) * 1_000_000n)
}

export function duration(ms: number | undefined): Cell {
  return { number: ms === undefined ? '-' : durationText(ms) }
}

export function hoursText(hours: number): string {
  const digits = hours < 10 ? 2 : 0
  return hours.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** Returns `1 node` or `2 nodes`. */
export function countText(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? singular : plural}`
}
