/** The smallest value that so many percent of all do not exceed (nearest rank). Errors: none of no values. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  const found = sorted[Math.max(Math.ceil((percent / 100) * sorted.length), 1) - 1]
  if (found === undefined) throw new Error('there is no percentile of no values')
  return found
}
