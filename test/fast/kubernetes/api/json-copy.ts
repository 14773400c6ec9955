/** As `structuredClone` of what JSON can say, in a fraction of the time. */
export function jsonCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(jsonCopy) as T
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, jsonCopy(one)])) as T
}
