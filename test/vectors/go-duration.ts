/** Returns Go's own text of a duration: `1h0m10s`, `1.5ms`, `0s`. */
export function formatGoDuration(nanoseconds: bigint): string {
  const sign = nanoseconds < 0n ? '-' : ''
  const value = nanoseconds < 0n ? -nanoseconds : nanoseconds
  if (value === 0n) return '0s'
  if (value < 1000n) return `${sign}${value}ns`
  if (value < 1_000_000n) return `${sign}${decimal(value, 3)}µs`
  if (value < 1_000_000_000n) return `${sign}${decimal(value, 6)}ms`
  const minutes = value / 60_000_000_000n
  const seconds = `${decimal(value % 60_000_000_000n, 9)}s`
  if (minutes === 0n) return `${sign}${seconds}`
  const hours = minutes / 60n
  return hours === 0n ? `${sign}${minutes}m${seconds}` : `${sign}${hours}h${minutes % 60n}m${seconds}`
}

function decimal(value: bigint, places: number): string {
  const scale = 10n ** BigInt(places)
  const fraction = String(value % scale)
    .padStart(places, '0')
    .replace(/0+$/, '')
  return fraction === '' ? String(value / scale) : `${value / scale}.${fraction}`
}
