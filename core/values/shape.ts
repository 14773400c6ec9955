import { printable } from './printable.ts'

/** An error in a value, its place, and the remedy. */
export interface Problem {
  readonly path: readonly (string | number)[]
  readonly value: unknown
  readonly remedy: string
}

/** Returns the first error; `record` handles missing values. A valid value allocates nothing. */
export type Shape = (value: unknown) => Problem | undefined

export const wrong = (value: unknown, remedy: string): Problem => ({ path: [], value, remedy })
const within = (key: string | number, problem: Problem): Problem => ({ ...problem, path: [key, ...problem.path] })
const isAbsent = (value: unknown) => value === undefined || value === null

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export const text: Shape = (value) => (typeof value === 'string' ? undefined : wrong(value, 'write a text'))

export const flag: Shape = (value) => (typeof value === 'boolean' ? undefined : wrong(value, 'write true or false'))

export const number: Shape = (value) =>
  typeof value === 'number' && Number.isFinite(value) ? undefined : wrong(value, 'write a number')

export const wholeNumber: Shape = (value) =>
  Number.isInteger(value) ? undefined : wrong(value, 'write a whole number')

export const time: Shape = (value) =>
  typeof value === 'string' && !Number.isNaN(Date.parse(value))
    ? undefined
    : wrong(value, 'write a time such as 2026-03-01T12:00:00Z')

export function oneOf(...values: readonly string[]): Shape {
  return (value) => (values.includes(value as string) ? undefined : wrong(value, `use ${values.join(', ')}`))
}

export function list(each: Shape): Shape {
  return (value) => {
    if (!Array.isArray(value)) return wrong(value, 'write a list')
    for (let at = 0; at < value.length; at++) {
      const problem = isAbsent(value[at]) ? undefined : each(value[at])
      if (problem !== undefined) return within(at, problem)
    }
    return undefined
  }
}

/** Returns the shape of an object with any keys. */
export function map(each: Shape): Shape {
  return (value) => {
    if (!isObject(value)) return wrong(value, 'write a map')
    for (const key in value) {
      const problem = isAbsent(value[key]) ? undefined : each(value[key])
      if (problem !== undefined) return within(key, problem)
    }
    return undefined
  }
}

/** Returns the shape of an object with these fields, of which those in `needed` are required. */
export function record(fields: Readonly<Record<string, Shape>>, needed: readonly string[] = []): Shape {
  return (value) => {
    if (!isObject(value)) return wrong(value, 'write a map')
    for (const name of needed) if (isAbsent(value[name])) return within(name, wrong(value[name], 'add it'))
    for (const name in value) {
      const own = value[name]
      const problem = isAbsent(own) || !Object.hasOwn(fields, name) ? undefined : fields[name]?.(own)
      if (problem !== undefined) return within(name, problem)
    }
    return undefined
  }
}

/** Returns `record` that rejects other fields. */
export function strictRecord(fields: Readonly<Record<string, Shape>>, needed: readonly string[] = []): Shape {
  const shape = record(fields, needed)
  return (value) => {
    if (isObject(value)) {
      const unknown = Object.keys(value).find((name) => !Object.hasOwn(fields, name))
      if (unknown !== undefined)
        return within(unknown, wrong(value[unknown], `use one of the fields ${Object.keys(fields).join(', ')}`))
    }
    return shape(value)
  }
}

/** Returns the shape of a value of any of these shapes; the remedy names them all. */
export function anyOf(remedy: string, ...shapes: readonly Shape[]): Shape {
  return (value) => (shapes.some((shape) => shape(value) === undefined) ? undefined : wrong(value, remedy))
}

/** Returns the shape of a number within bounds, both included. */
export function numberFrom(least: number, most = Number.POSITIVE_INFINITY): Shape {
  const bounds = most === Number.POSITIVE_INFINITY ? `of ${least} or more` : `from ${least} to ${most}`
  return (value) =>
    typeof value === 'number' && value >= least && value <= most ? undefined : wrong(value, `write a number ${bounds}`)
}

/** Levels of nesting allowed in external data: functions that walk it recurse once for each. Schemas of CRDs have some 50. */
export const mostLevels = 200

/** Whether data has more levels of lists and maps than this. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((element) => isDeeper(element, levels - 1))
  for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], levels - 1)) return true
  return false
}

/** Returns `spec.containers[0].resources`, `metadata.labels["example.com/a"]`; on one line, whatever the keys are. */
export function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>((all, key) => {
    if (typeof key === 'number') return `${all}[${key}]`
    if (!/^[\w-]{1,300}$/.test(key)) return `${all}[${printable(JSON.stringify(start(key, 300)))}]`
    return all === '' ? key : `${all}.${key}`
  }, '')
}

/** Returns a value for errors: on one line, and of a long one the beginning. */
export function valueText(value: unknown): string {
  if (value === undefined) return 'is missing'
  const json = JSON.stringify(typeof value === 'string' ? start(value, 60) : value)
  return `is ${printable(start(json, 60))}`
}

function start(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 3)}...` : text
}
