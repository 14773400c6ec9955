import { shortened } from '../../../core/values/shortened.ts'
import { latency } from '../../document/words.ts'
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

export function duration(ms: number | undefined): Cell {
  return { number: ms === undefined ? '-' : latency(ms) }
}
