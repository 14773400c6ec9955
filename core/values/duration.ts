/** A parsed duration setting: a time, or `Never`. */
export type DurationSetting = { readonly kind: 'duration'; readonly nanoseconds: bigint } | { readonly kind: 'never' }

const unitNanoseconds: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}
const maxInt64 = (1n << 63n) - 1n
/** A number with more digits does not fit into 64 bits, and further decimals are less than a nanosecond. */
const mostDigits = 19

/** Parses nanoseconds of a Go duration text such as `1h30m`; undefined when it is invalid or does not fit into 64 bits. */
export function parseGoDuration(text: string): bigint | undefined {
  const sign = /^[+-]/.test(text) ? text[0] : ''
  const rest = text.slice(sign === '' ? 0 : 1)
  if (rest === '0') return 0n
  const part = /([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)/y
  let total = 0n
  let at = 0
  if (rest === '') return undefined
  while (at < rest.length) {
    part.lastIndex = at
    const match = part.exec(rest)
    if (match === null) return undefined
    const [whole, digits = '', fraction = '', unit = ''] = match
    if (digits === '' && fraction === '') return undefined
    const scale = unitNanoseconds[unit] as bigint
    const significant = digits.replace(/^0+/, '')
    if (significant.length > mostDigits) return undefined
    const decimals = fraction.slice(0, mostDigits)
    total += BigInt(significant) * scale + (BigInt(decimals) * scale) / 10n ** BigInt(decimals.length)
    if (total > maxInt64 + (sign === '-' ? 1n : 0n)) return undefined
    at += whole.length
  }
  return sign === '-' ? -total : total
}

/** Parses a setting such as `expireAfter`: a duration or the word `Never`. Undefined when it is neither. */
export function parseDurationSetting(text: string): DurationSetting | undefined {
  if (text === 'Never') return { kind: 'never' }
  const nanoseconds = parseGoDuration(text)
  return nanoseconds === undefined ? undefined : { kind: 'duration', nanoseconds }
}

/** Returns milliseconds of a setting; undefined for `Never`, for an unset one and for an invalid one. */
export function durationMs(text: string | undefined): number | undefined {
  const setting = text === undefined ? undefined : parseDurationSetting(text)
  return setting?.kind === 'duration' ? Number(setting.nanoseconds / 1_000_000n) : undefined
}
