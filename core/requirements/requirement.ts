import type { RequirementOperator, RequirementSpec } from '../objects.ts'
import { normalizedLabel, normalizedValue } from './labels.ts'

/**
 * The values that one label key may take: a finite set, or the complement of one, with optional inclusive integer bounds (reference/karpenter-core.md
 * 2). With bounds only whole numbers are members.
 */
export interface Requirement {
  readonly key: string
  readonly complement: boolean
  readonly values: ReadonlySet<string>
  readonly gte?: bigint
  readonly lte?: bigint
  readonly minValues?: number
}

const maxInt64 = (1n << 63n) - 1n
const minInt64 = -(1n << 63n)
const none: ReadonlySet<string> = new Set()

/** Parses whole numbers of any size by the syntax of Go's strconv.Atoi. */
function parseInteger(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined
  return BigInt(text.startsWith('+') ? text.slice(1) : text)
}

/** Returns the bound of a text: beyond 64 bits the nearest number within, and 0 when it is no whole number. */
function parseBound(text: string): bigint {
  const value = parseInteger(text) ?? 0n
  if (value > maxInt64) return maxInt64
  return value < minInt64 ? minInt64 : value
}

/** Builds the set of a requirement as written in an object, under the stable name of its key (reference/karpenter-core.md 1.5, 2). */
export function requirement(spec: RequirementSpec): Requirement {
  const key = normalizedLabel(spec.key)
  const { operator } = spec
  const values = (spec.values ?? []).map((value) => normalizedValue(spec.key, value))
  const base = {
    key,
    ...(spec.minValues === undefined || spec.minValues === null ? {} : { minValues: spec.minValues }),
  }
  const bound = () => parseBound(values[0] ?? '')
  switch (operator) {
    case 'In':
      return { ...base, complement: false, values: new Set(values) }
    case 'DoesNotExist':
      return { ...base, complement: false, values: none }
    case 'NotIn':
      return { ...base, complement: true, values: new Set(values) }
    case 'Exists':
      return { ...base, complement: true, values: none }
    case 'Gt':
      // Nothing is greater; upstream drops minValues here.
      if (bound() === maxInt64) return { key, complement: false, values: none }
      return { ...base, complement: true, values: none, gte: bound() + 1n }
    case 'Lt':
      if (bound() === minInt64) return { ...base, complement: false, values: none }
      return { ...base, complement: true, values: none, lte: bound() - 1n }
    case 'Gte':
      return { ...base, complement: true, values: none, gte: bound() }
    case 'Lte':
      return { ...base, complement: true, values: none, lte: bound() }
  }
}

/** Returns the set with these values only. */
export function inValues(key: string, values: Iterable<string>): Requirement {
  return { key, complement: false, values: new Set(values) }
}

/** Returns the operator under which a set is written. */
export function operatorOf({ complement, values }: Requirement): RequirementOperator {
  if (complement) return values.size > 0 ? 'NotIn' : 'Exists'
  return values.size > 0 ? 'In' : 'DoesNotExist'
}

/** Whether a value is a member. */
export function allows(set: Requirement, value: string): boolean {
  return set.values.has(value) !== set.complement && withinBounds(value, set)
}

function withinBounds(value: string, { gte, lte }: Pick<Requirement, 'gte' | 'lte'>): boolean {
  if (gte === undefined && lte === undefined) return true
  const number = parseInteger(value)
  if (number === undefined || number > maxInt64 || number < minInt64) return false
  return (gte === undefined || number >= gte) && (lte === undefined || number <= lte)
}

function maxDefined<T extends bigint | number>(a: T | undefined, b: T | undefined): T | undefined {
  if (a === undefined) return b
  return b === undefined || a >= b ? a : b
}

function minDefined(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  if (a === undefined) return b
  return b === undefined || a <= b ? a : b
}

/** Returns the members of both. */
export function intersect(a: Requirement, b: Requirement): Requirement {
  const gte = maxDefined(a.gte, b.gte)
  const lte = minDefined(a.lte, b.lte)
  const minValues = maxDefined(a.minValues, b.minValues)
  const base = { key: a.key, ...(minValues === undefined ? {} : { minValues }) }
  if (gte !== undefined && lte !== undefined && gte > lte) return { ...base, complement: false, values: none }
  const bounds = { ...(gte === undefined ? {} : { gte }), ...(lte === undefined ? {} : { lte }) }
  if (a.complement && b.complement) {
    const excluded = [...a.values, ...b.values].filter((value) => withinBounds(value, bounds))
    return { ...base, complement: true, values: new Set(excluded), ...bounds }
  }
  const [finite, other] = a.complement ? [b, a] : [a, b]
  const members = [...finite.values].filter(
    (value) => other.values.has(value) !== other.complement && withinBounds(value, bounds),
  )
  return { ...base, complement: false, values: new Set(members) }
}

/** Whether both have a member in common, without building the intersection. */
export function intersects(a: Requirement, b: Requirement): boolean {
  const gte = maxDefined(a.gte, b.gte)
  const lte = minDefined(a.lte, b.lte)
  if (gte !== undefined && lte !== undefined && gte > lte) return false
  if (a.complement && b.complement) return true
  // Of two finite sets the smaller one is iterated.
  const [finite, other] = a.complement || (!b.complement && b.values.size < a.values.size) ? [b, a] : [a, b]
  const bounds = { ...(gte === undefined ? {} : { gte }), ...(lte === undefined ? {} : { lte }) }
  for (const value of finite.values) {
    if (other.values.has(value) !== other.complement && withinBounds(value, bounds)) return true
  }
  return false
}

/** Returns the requirement as entries of an object's list. As upstream, exclusions are lost when there are bounds. */
export function serialize(set: Requirement): readonly RequirementSpec[] {
  const extra = set.minValues === undefined ? {} : { minValues: set.minValues }
  if (set.gte !== undefined || set.lte !== undefined) {
    return [
      ...(set.gte === undefined
        ? []
        : [{ key: set.key, operator: 'Gte' as const, values: [String(set.gte)], ...extra }]),
      ...(set.lte === undefined
        ? []
        : [{ key: set.key, operator: 'Lte' as const, values: [String(set.lte)], ...extra }]),
    ]
  }
  const values = sortedValues(set)
  return [{ key: set.key, operator: operatorOf(set), ...(values.length === 0 ? {} : { values }), ...extra }]
}

/** Returns the members, or the exclusions of a complement, in order. */
export function sortedValues({ values }: Requirement): string[] {
  return [...values].sort()
}

/** Returns the text for logs and errors: `key In [a b c d e and 2 others] >=1 <=5 minValues 2`. */
export function describe(set: Requirement): string {
  const operator = operatorOf(set)
  const values = sortedValues(set)
  const shown = values.length > 5 ? [...values.slice(0, 5), `and ${values.length - 5} others`] : values
  return [
    `${set.key} ${operator}`,
    ...(operator === 'In' || operator === 'NotIn' ? [`[${shown.join(' ')}]`] : []),
    ...(set.gte === undefined ? [] : [`>=${set.gte}`]),
    ...(set.lte === undefined ? [] : [`<=${set.lte}`]),
    ...(set.minValues === undefined ? [] : [`minValues ${set.minValues}`]),
  ].join(' ')
}

/**
 * Returns one member, the same for the same set: the first in order, or the least whole number from the lower bound that is not excluded. Empty when
 * there is none. (Upstream picks at random.)
 */
export function anyValue(set: Requirement): string {
  if (!set.complement) return sortedValues(set)[0] ?? ''
  for (let candidate = set.gte ?? 0n; ; candidate++) {
    if (set.lte !== undefined && candidate > set.lte) return ''
    if (!set.values.has(String(candidate))) return String(candidate)
  }
}
