/** Notation of a quantity: 1024-based suffixes, 1000-based suffixes, or an exponent. */
type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent'

/** A Kubernetes resource quantity, exact: a whole number of 1e-9 units, and its notation. */
export interface Quantity {
  readonly nano: bigint
  readonly format: QuantityFormat
}

export type ParsedQuantity =
  | { readonly kind: 'quantity'; readonly quantity: Quantity }
  | { readonly kind: 'error'; readonly message: string }

const nanoPerUnit = 1_000_000_000n
/** Binary quantities are capped at 2^63-1 units when parsed, as in Kubernetes. */
const maxBinaryNano = ((1n << 63n) - 1n) * nanoPerUnit

export const zero: Quantity = { nano: 0n, format: 'DecimalSI' }

const decimalSuffixes: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
}
const binarySuffixes: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 }
const suffixByDecimalExponent = new Map(Object.entries(decimalSuffixes).map(([suffix, exponent]) => [exponent, suffix]))
const suffixByBinaryExponent = new Map(Object.entries(binarySuffixes).map(([suffix, exponent]) => [exponent, suffix]))

const shape = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/
/** Far more than any meaningful number has; parsing time grows faster than the length. */
const longest = 1000
const wrongFormat = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

/**
 * Parses a quantity text. A fraction of 1e-9 is rounded away from zero, so that asking for something never becomes asking for nothing.
 * A text without digits before its suffix is zero, as in Kubernetes. Errors are Kubernetes' texts.
 */
export function parseQuantity(text: string): ParsedQuantity {
  if (text.length > longest)
    return { kind: 'error', message: `quantities have at most ${longest} characters, this one ${text.length}` }
  const match = shape.exec(text)
  if (match === null || text === '') return { kind: 'error', message: wrongFormat }
  const [, sign = '', whole = '', fraction = '', suffix = ''] = match
  const unit = parseSuffix(suffix)
  if (unit === undefined) return { kind: 'error', message: "unable to parse quantity's suffix" }
  const magnitude = scaleUp(BigInt(`0${whole}${fraction}`), fraction.length, unit)
  const binary = unit.format === 'BinarySI'
  const capped = binary && magnitude > maxBinaryNano ? maxBinaryNano : magnitude
  // A binary quantity below one prints better as a decimal one.
  const format = binary && capped > 0n && capped < nanoPerUnit ? 'DecimalSI' : unit.format
  return { kind: 'quantity', quantity: { nano: sign === '-' ? -capped : capped, format } }
}

/** Parses a text known to be a quantity. Errors: throws when it is not one. */
export function quantity(text: string): Quantity {
  const parsed = parseQuantity(text)
  if (parsed.kind === 'error') throw new Error(`quantity "${text}": ${parsed.message}`)
  return parsed.quantity
}

/** A whole number as a decimal quantity. */
export function integerQuantity(value: number | bigint): Quantity {
  return { nano: BigInt(value) * nanoPerUnit, format: 'DecimalSI' }
}

interface Unit {
  readonly format: QuantityFormat
  readonly base: 2n | 10n
  readonly exponent: number
}

function parseSuffix(suffix: string): Unit | undefined {
  const decimal = decimalSuffixes[suffix]
  if (decimal !== undefined) return { format: 'DecimalSI', base: 10n, exponent: decimal }
  const binary = binarySuffixes[suffix]
  if (binary !== undefined) return { format: 'BinarySI', base: 2n, exponent: binary }
  if (!/^[eE][-+]?[0-9]+$/.test(suffix)) return undefined
  const exponent = Number(suffix.slice(1))
  return Math.abs(exponent) > 1000 ? undefined : { format: 'DecimalExponent', base: 10n, exponent }
}

function scaleUp(digits: bigint, fractionDigits: number, { base, exponent }: Unit): bigint {
  const numerator = digits * nanoPerUnit * base ** BigInt(Math.max(exponent, 0))
  const denominator = 10n ** BigInt(fractionDigits) * base ** BigInt(Math.max(-exponent, 0))
  return divideAwayFromZero(numerator, denominator)
}

function divideAwayFromZero(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator
  if (quotient * denominator === numerator) return quotient
  return numerator < 0n ? quotient - 1n : quotient + 1n
}

/** Returns the canonical text, as Kubernetes prints it. */
export function formatQuantity({ nano, format }: Quantity): string {
  if (nano === 0n) return '0'
  const wholeUnits = nano % nanoPerUnit === 0n
  const small = nano > -1024n * nanoPerUnit && nano < 1024n * nanoPerUnit
  if (format === 'BinarySI' && wholeUnits && !small) return formatBinary(nano / nanoPerUnit)
  return formatDecimal(nano, format === 'DecimalExponent')
}

function formatBinary(units: bigint): string {
  let mantissa = units
  let exponent = 0
  while (mantissa % 1024n === 0n && exponent < 60) {
    mantissa /= 1024n
    exponent += 10
  }
  return `${mantissa}${suffixByBinaryExponent.get(exponent) ?? ''}`
}

function formatDecimal(nano: bigint, asExponent: boolean): string {
  let mantissa = nano
  let exponent = -9
  const highest = asExponent ? Number.POSITIVE_INFINITY : 18
  while (mantissa % 1000n === 0n && exponent < highest) {
    mantissa /= 1000n
    exponent += 3
  }
  if (!asExponent) return `${mantissa}${suffixByDecimalExponent.get(exponent) ?? ''}`
  return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`
}

/** Returns the number without a suffix, with as many decimal places as the canonical text implies: `0.500` for `500m`. */
export function decimalText({ nano }: Quantity): string {
  let places = 9
  let digits = nano < 0n ? -nano : nano
  while (places > 0 && digits % 1000n === 0n) {
    digits /= 1000n
    places -= 3
  }
  const padded = String(digits).padStart(places + 1, '0')
  const point = padded.length - places
  return `${nano < 0n ? '-' : ''}${padded.slice(0, point)}${places === 0 ? '' : `.${padded.slice(point)}`}`
}

/** Returns a + b. A zero takes the other's format. */
export function addQuantity(a: Quantity, b: Quantity): Quantity {
  return { nano: a.nano + b.nano, format: a.nano === 0n ? b.format : a.format }
}

/** Returns a - b. A zero takes the other's format. */
export function subtractQuantity(a: Quantity, b: Quantity): Quantity {
  return { nano: a.nano - b.nano, format: a.nano === 0n ? b.format : a.format }
}

/** Returns -1, 0 or 1. */
export function compareQuantity(a: Quantity, b: Quantity): -1 | 0 | 1 {
  return a.nano < b.nano ? -1 : a.nano > b.nano ? 1 : 0
}

/** Returns the value in units, rounded away from zero. */
export function quantityValue(value: Quantity): bigint {
  return divideAwayFromZero(value.nano, nanoPerUnit)
}

/** Returns the value in thousandths of a unit, rounded away from zero. */
export function quantityMilliValue(value: Quantity): bigint {
  return divideAwayFromZero(value.nano, 1_000_000n)
}
