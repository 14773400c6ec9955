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

/** A value as it is read from the JSON that it was sent as: without what JSON leaves out. In a fraction of the time. */
export function sentCopy(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one) => sentCopy(one) ?? null)
  if ('toJSON' in value) return JSON.parse(JSON.stringify(value))
  const copy = { ...value } as Record<string, unknown>
  for (const key in copy) {
    const one = copy[key]
    if (typeof one === 'string') continue
    const sent = sentCopy(one)
    if (sent === undefined) delete copy[key]
    else copy[key] = sent
  }
  return copy
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
