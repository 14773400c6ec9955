export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Levels of nesting that data from outside may have: what walks it calls itself once for each. Schemas of CRDs have some 50. */
export const mostLevels = 200

/** Whether data has more than so many levels of lists and maps. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((element) => isDeeper(element, levels - 1))
  for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], levels - 1)) return true
  return false
}

/** Returns the JSON object (or list) of a text that should be one; undefined: it is something else. */
export function jsonIn<T = object>(text: string): Partial<T> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
