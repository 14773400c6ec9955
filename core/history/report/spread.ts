/** Percentiles by nearest rank: each is one of the values. */
export interface Spread {
  /** The sum of the weights. */
  readonly count: number
  readonly min: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

/** A value that counts `weight` times, which is a natural number. */
export interface Weighted {
  readonly value: number
  readonly weight: number
}

/** Returns the spread of values; undefined when there are none. */
export function spreadOf(values: readonly number[]): Spread | undefined {
  return weightedSpread(values.map((value) => ({ value, weight: 1 })))
}

/** Returns the spread of values that count several times each; undefined when nothing counts. */
export function weightedSpread(values: readonly Weighted[]): Spread | undefined {
  const sorted = values.filter(({ weight }) => weight > 0).toSorted((a, b) => a.value - b.value)
  const [first] = sorted
  const last = sorted.at(-1)
  if (first === undefined || last === undefined) return undefined
  const count = sorted.reduce((sum, { weight }) => sum + weight, 0)
  const at = (percent: number) => {
    const rank = (count * percent) / 100
    let seen = 0
    return sorted.find(({ weight }) => (seen += weight) >= rank)?.value ?? last.value
  }
  return { count, min: first.value, p50: at(50), p90: at(90), p99: at(99), max: last.value }
}
