import { forgottenAtMs, type Marks, type SizeMark, type SizeUse, sizeKey } from './mark.ts'

const firstMs = 60 * 60_000
const longestMs = 24 * 60 * 60_000

/** A size that does not work, and why. */
export interface RefusedSize extends SizeUse {
  readonly instanceType: string
  readonly reason: string
  readonly cause: string
}

/** The mark of a size: for an hour, and for twice as long, at most 24 hours, when an earlier mark is remembered. */
export function sizeMark(marks: Marks, size: RefusedSize, nowMs: number): SizeMark {
  const before = marks.get(sizeKey(size.instanceType, size))
  const isRemembered = before?.kind === 'size' && forgottenAtMs(before) > nowMs
  // Several launches may be refused at the same time, for one reason.
  const isInForce = isRemembered && before.untilMs > nowMs
  const doubled = isRemembered ? Math.min(before.lastsMs * 2, longestMs) : firstMs
  const lastsMs = isInForce ? before.lastsMs : doubled
  return { kind: 'size', ...size, lastsMs, untilMs: nowMs + lastsMs }
}
