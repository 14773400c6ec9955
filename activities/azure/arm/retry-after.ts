/**
 * Returns the milliseconds that an answer asks to wait before the next attempt: `retry-after-ms` and `x-ms-retry-after-ms`, or `Retry-After` in
 * seconds or as an HTTP date. Undefined when it asks for nothing; a date that has passed is no wait.
 */
export function retryAfterMs(header: (name: string) => string | undefined, nowMs: number): number | undefined {
  for (const name of ['retry-after-ms', 'x-ms-retry-after-ms']) {
    const ms = Number(header(name) ?? Number.NaN)
    if (ms >= 0) return ms
  }
  const text = header('retry-after')?.trim() ?? ''
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs)
}
