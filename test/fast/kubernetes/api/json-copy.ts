/** As `structuredClone` of what JSON can say, in a fraction of the time. */
export function jsonCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(jsonCopy) as T
  const copy = { ...value } as Record<string, unknown>
  for (const key in copy) {
    const one = copy[key]
    if (typeof one === 'object' && one !== null) copy[key] = jsonCopy(one)
  }
  return copy as T
}

/** As `isDeepStrictEqual` of what JSON can say, in a fraction of the time. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const [own, others] = [one as Record<string, unknown>, other as Record<string, unknown>]
  const keys = Object.keys(own)
  return (
    keys.length === Object.keys(others).length &&
    keys.every((key) => key in others && isSameJson(own[key], others[key]))
  )
}
