/**
 * What is left of a JSON value when everything is taken away without which it still has the property. Entries of lists and fields of
 * objects go one by one until none can go any more.
 */
export function shrunk<T>(value: T, has: (smaller: T) => boolean): T {
  let current = value
  for (let before: T | undefined; before !== current; ) {
    before = current
    for (const path of paths(current)) {
      const smaller = without(current, path) as T
      if (smaller !== current && holds(smaller, has)) current = smaller
    }
  }
  return current
}

/** A value that has lost what its readers need does not count. */
function holds<T>(value: T, has: (smaller: T) => boolean): boolean {
  try {
    return has(value)
  } catch {
    return false
  }
}

type Path = readonly (string | number)[]

/** Ways to every part, the outer and later ones first, so that the way to an entry stays right when a later one is gone. */
function paths(value: unknown): readonly Path[] {
  if (typeof value !== 'object' || value === null) return []
  const keys: readonly (string | number)[] = Array.isArray(value) ? value.map((_, index) => index) : Object.keys(value)
  const own = [...keys].reverse()
  return [
    ...own.map((key) => [key]),
    ...own.flatMap((key) => paths((value as Record<string | number, unknown>)[key]).map((path) => [key, ...path])),
  ]
}

function without(value: unknown, [key, ...rest]: Path): unknown {
  if (typeof value !== 'object' || value === null || key === undefined) return value
  if (Array.isArray(value)) {
    if (!(Number(key) in value)) return value
    if (rest.length === 0) return value.filter((_, index) => index !== key)
    const inner = without(value[Number(key)], rest)
    return inner === value[Number(key)] ? value : value.with(Number(key), inner)
  }
  if (!Object.hasOwn(value, key)) return value
  const own = value as Record<string, unknown>
  if (rest.length === 0) return Object.fromEntries(Object.entries(own).filter(([name]) => name !== key))
  const inner = without(own[key], rest)
  return inner === own[key] ? value : { ...own, [key]: inner }
}
