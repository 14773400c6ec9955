/**
 * Where a decision differs from what a scenario expects, by part of the result (golden/disruption.md): every list is a set, numbers may
 * differ by 1e-9 relative, absent is empty, and `$anyOf` and `$prefix` leave a choice. Parts that nothing is expected of are not compared.
 */
export function disruptionDifferences(
  expected: Readonly<Record<string, unknown>>,
  result: Readonly<Record<string, unknown>>,
): readonly string[] {
  return Object.keys(expected)
    .filter((key) => !matches(expected[key], result[key]))
    .map((key) => `${key}: want ${JSON.stringify(expected[key])}, got ${JSON.stringify(result[key])}`)
}

function matches(want: unknown, got: unknown): boolean {
  if (isAbsent(want) && isAbsent(got)) return true
  if (Array.isArray(want)) return Array.isArray(got) && sameSet(want, got)
  if (isMap(want)) {
    if ('$anyOf' in want) return (want['$anyOf'] as readonly unknown[]).some((one) => matches(one, got))
    if ('$prefix' in want) return typeof got === 'string' && got.startsWith(String(want['$prefix']))
    return (
      isMap(got) &&
      [...new Set([...Object.keys(want), ...Object.keys(got)])].every((key) => matches(want[key], got[key]))
    )
  }
  if (typeof want === 'number' && typeof got === 'number')
    return Math.abs(want - got) <= 1e-9 * Math.max(Math.abs(want), Math.abs(got))
  return want === got
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isAbsent = (value: unknown) =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0)

function sameSet(want: readonly unknown[], got: readonly unknown[]): boolean {
  const rest = [...got]
  return (
    want.length === got.length &&
    want.every((one) => {
      const at = rest.findIndex((other) => matches(one, other))
      if (at >= 0) rest.splice(at, 1)
      return at >= 0
    })
  )
}
