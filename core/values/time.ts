/** Returns RFC 3339 of epoch ms, in whole seconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** Whether so long has passed since a moment. One that is to come is long ago as well: the clock was set back since. Times are epoch ms. */
export function hasPassed(ms: number, sinceMs: number, now: number): boolean {
  return now - sinceMs >= ms || now < sinceMs
}

/** Returns a time limit in words, such as `15 minutes`. */
export function limitText(ms: number): string {
  return ms % 60_000 === 0 ? `${ms / 60_000} minutes` : `${Math.round(ms / 1000)} seconds`
}
