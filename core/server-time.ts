// What the API server's clock says, from the dates of its answers. Its own clock is a process's to judge by: of nodes that expire, and of sick ones.

/** What one answer said of the API server's clock. Times are those of a clock that never jumps, in milliseconds. */
export interface ClockReading {
  /** By how much the API server's time (epoch ms) is ahead of that clock. */
  readonly offsetMs: number
  /** By how much it may be off: the date is whole seconds, and the answer was made at some moment of its request. */
  readonly uncertaintyMs: number
  readonly atMs: number
}

/** What is known of the API server's clock. */
export interface KnownTime {
  /** The last reading that another one agreed with. */
  readonly believed?: ClockReading
  readonly last?: ClockReading
}

const secondMs = 1000
/** Longest time between two readings that confirm each other. */
const togetherMs = 5 * 60_000
/** A reading that may be off by more says too little. */
const mostUncertainMs = 5000
/** A clock that is further from the API server's is wrong. */
const mostOffMs = 60_000

/** Returns what an answer says of the API server's clock: that of the middle of its request. Undefined: it has no date, or took too long. */
export function readingOf(
  date: string | undefined,
  { sentMs, answeredMs }: { readonly sentMs: number; readonly answeredMs: number },
): ClockReading | undefined {
  const dateMs = Date.parse(date ?? '')
  const uncertaintyMs = (secondMs + answeredMs - sentMs) / 2
  if (Number.isNaN(dateMs) || uncertaintyMs > mostUncertainMs) return undefined
  return { offsetMs: dateMs + secondMs / 2 - (sentMs + answeredMs) / 2, uncertaintyMs, atMs: answeredMs }
}

/**
 * Returns what is known after one more reading. Two in a row that are equal, as far as their precision goes, are believed. One that differs from what is
 * believed changes nothing: it may be that of one of several API servers, or of something that stands before them.
 */
export function withReading({ believed, last }: KnownTime, reading: ClockReading): KnownTime {
  const isConfirmed =
    (believed !== undefined && areEqual(believed, reading)) ||
    (last !== undefined && reading.atMs - last.atMs <= togetherMs && areEqual(last, reading))
  if (isConfirmed) return { believed: reading, last: reading }
  return { ...(believed && { believed }), last: reading }
}

function areEqual(a: ClockReading, b: ClockReading): boolean {
  return Math.abs(a.offsetMs - b.offsetMs) <= a.uncertaintyMs + b.uncertaintyMs
}

/**
 * Whether a clock that is off by so much is wrong: more than a minute, for certain. One that was wrong is so until it is certainly right again, so that
 * a clock at the limit is not now this and now that.
 */
export function isClockWrong(
  { offMs, uncertaintyMs }: { readonly offMs: number; readonly uncertaintyMs: number },
  wasWrong: boolean,
): boolean {
  return Math.abs(offMs) + (wasWrong ? uncertaintyMs : -uncertaintyMs) > mostOffMs
}

/** Commands that set a machine's clock. */
export const ntpCommands = 'timedatectl set-ntp true; chronyc makestep'

/** By how much a clock is off, in words: `31 d 4 h ahead of the API server's`. */
export function offText(offMs: number): string {
  return `${spanText(Math.round(Math.abs(offMs) / secondMs))} ${offMs > 0 ? 'ahead of' : 'behind'} the API server's`
}

function spanText(seconds: number): string {
  const hours = Math.floor(seconds / 3600)
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24} h`
  return hours > 0 ? `${hours} h ${Math.floor(seconds / 60) % 60} min` : `${seconds} s`
}
