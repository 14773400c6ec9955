/**
 * Where an answer differs from what a vector case expects, as texts `path: difference`. An absent key equals null, numbers may differ by
 * 1e-9 relative, and `$anyOf`, `$parts`, `$matches`, `$overlaps` and `$info` stand for a value that upstream leaves open.
 */
export function differences(expected: unknown, answer: unknown, path = '$'): readonly string[] {
  const form = openForm(expected)
  if (form !== undefined) return form(answer) ? [] : [mismatch(expected, answer, path)]
  if (Array.isArray(expected)) {
    if (!Array.isArray(answer) || answer.length !== expected.length) return [mismatch(expected, answer, path)]
    return expected.flatMap((item, index) => differences(item, answer[index], `${path}[${index}]`))
  }
  if (isObject(expected)) {
    if (!isObject(answer)) return [mismatch(expected, answer, path)]
    const keys = new Set([...Object.keys(expected), ...Object.keys(answer)])
    return [...keys].flatMap((key) => differences(expected[key], answer[key], `${path}.${key}`))
  }
  return sameValue(expected ?? null, answer ?? null) ? [] : [mismatch(expected, answer, path)]
}

const relativeTolerance = 1e-9

function sameValue(a: unknown, b: unknown): boolean {
  if (typeof a === 'string' && typeof b === 'string') return withoutListings(a) === withoutListings(b)
  if (typeof a !== 'number' || typeof b !== 'number') return a === b
  return a === b || Math.abs(a - b) <= relativeTolerance * Math.max(Math.abs(a), Math.abs(b))
}

/** Lists of label keys or domains in messages depend on the provider. */
function withoutListings(text: string): string {
  return text.replaceAll(/\[[a-zA-Z0-9./ _-]*(?:kubernetes\.io|karpenter)[a-zA-Z0-9./ _-]*\]/g, '[...]')
}

type Accepts = (answer: unknown) => boolean

/** What an object with one of the special keys accepts; undefined for any other value. */
function openForm(expected: unknown): Accepts | undefined {
  if (!isObject(expected)) return undefined
  const [entry, ...more] = Object.entries(expected)
  if (entry === undefined || more.length > 0) return undefined
  const [name, value] = entry
  switch (name) {
    case '$info':
      return () => true
    case '$anyOf':
      return (answer) => asList(value).some((one) => differences(one, answer).length === 0)
    case '$parts':
      return (answer) =>
        typeof answer === 'string' && sorted(withoutListings(answer).split('; ')) === sorted(asList(value))
    case '$matches':
      return (answer) => typeof answer === 'string' && typeof value === 'string' && new RegExp(value).test(answer)
    case '$overlaps':
      return (answer) => Array.isArray(answer) && answer.some((one) => asList(value).includes(one))
    case '$choose':
      return (answer) => isChosen(value as Choice, asList(answer))
    default:
      return undefined
  }
}

/** A list with all of some names and any n of others. */
interface Choice {
  readonly all: readonly unknown[]
  readonly some: number
  readonly of: readonly unknown[]
}

function isChosen({ all, some, of }: Choice, answer: readonly unknown[]): boolean {
  return (
    new Set(answer).size === answer.length &&
    answer.length === all.length + some &&
    all.every((name) => answer.includes(name)) &&
    answer.every((name) => all.includes(name) || of.includes(name))
  )
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const sorted = (parts: readonly unknown[]) => JSON.stringify(parts.map(String).sort())

function mismatch(expected: unknown, answer: unknown, path: string): string {
  return `${path}: expected ${show(expected)}, got ${show(answer)}`
}

const show = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value))
