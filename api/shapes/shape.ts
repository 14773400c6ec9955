import { z } from 'zod'
import { isObject } from '../../core/values/json.ts'
import { printable } from '../../core/values/printable.ts'
import { parseQuantity } from '../../core/values/quantity.ts'
import { shortened } from '../../core/values/texts.ts'

// Shapes of data that somebody else wrote. Each error of a shape is the remedy: what would be right.

/** What is wrong with a value, where in it, and what would be right. */
export interface Problem {
  readonly path: readonly (string | number)[]
  readonly value: unknown
  readonly remedy: string
}

/** A value of a shape once null fields, which count as missing, are taken out. */
export type Checked<Shape extends z.ZodType> = WithoutNull<z.output<Shape>>

type WithoutNull<T> = unknown extends T
  ? T
  : T extends string | number | boolean
    ? T
    : T extends readonly (infer Item)[]
      ? readonly WithoutNull<Exclude<Item, null | undefined>>[]
      : { readonly [Key in keyof T]: WithoutNull<Exclude<T[Key], null | undefined>> }

const isAbsent = (value: unknown) => value === undefined || value === null

/** The error of a shape: the remedy, or that a field has to be added. */
const instead = (remedy: string) => ({
  error: ({ input }: { readonly input?: unknown }) => (isAbsent(input) ? 'add it' : remedy),
})

/** Finds the first thing that is wrong with a value. */
export function problemOf(shape: z.ZodType, value: unknown): Problem | undefined {
  const [issue] = shape.safeParse(value).error?.issues ?? []
  if (issue === undefined) return undefined
  const unknownKey = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const path = [...(issue.path as (string | number)[]), ...unknownKey]
  return { path, value: valueAt(value, path), remedy: issue.message }
}

/** Returns the value of a field, or undefined where there is none. */
export function valueAt(value: unknown, path: Problem['path']): unknown {
  return path.reduce(
    (at, key) => (typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? at[key as never] : undefined),
    value,
  )
}

/** YAML reads `5` as a number and `true` as a boolean, which are texts in quotes. */
export function textRemedy(value: unknown): string {
  const isPlain = typeof value === 'number' || typeof value === 'boolean'
  return isPlain ? `write "${value}", with the quotes` : 'write a text'
}

export const text = z.string({ error: ({ input }) => (isAbsent(input) ? 'add it' : textRemedy(input)) })

export const flag = z.boolean(instead('write true or false'))

export const number = z.number(instead('write a number'))

export const wholeNumber = z
  .number(instead('write a whole number'))
  .refine(Number.isInteger, { error: 'write a whole number', abort: true })

const timeRemedy = 'write a time such as 2026-03-01T12:00:00Z'
export const time = z
  .string(instead(timeRemedy))
  .refine((value) => !Number.isNaN(Date.parse(value)), { error: timeRemedy, abort: true })

const quantitiesSeen = new Set<unknown>()

/** A Kubernetes quantity; a number stands for its text. */
export const quantity = z.custom<string | number>((value) => {
  if (quantitiesSeen.has(value)) return true
  const isText = typeof value === 'string' || typeof value === 'number'
  if (!isText || parseQuantity(String(value)).kind === 'error') return false
  quantitiesSeen.add(value)
  return true
}, instead('write a quantity such as 500m or 2Gi'))

export function oneOf<const Values extends readonly string[]>(...values: Values) {
  return z.enum(values, { error: ({ input }) => (isAbsent(input) ? 'add it' : `use ${choice(values, input)}`) })
}

/** Words of `karpenter.sh/v1beta1` in v1, and the reverse. */
const renamed: ReadonlyMap<unknown, string> = new Map([
  ['WhenUnderutilized', 'WhenEmptyOrUnderutilized'],
  ['WhenEmptyOrUnderutilized', 'WhenUnderutilized'],
])

/** The word that is meant; all that there are where it is none of them. */
export function choice(words: readonly string[], given: unknown): string {
  const word = renamed.get(given) ?? given
  // What an object is as a text, a manifest could choose.
  const name = typeof word === 'string' || typeof word === 'boolean' ? String(word).toLowerCase() : ''
  return words.find((word) => word.toLowerCase() === name) ?? words.join(', ')
}

export function list<Each extends z.ZodType>(each: Each) {
  return z.array(each.nullish(), instead('write a list'))
}

type Fields = Readonly<Record<string, z.ZodType>>
type Record_<Of extends Fields, Needed extends keyof Of> = {
  [Name in keyof Of]: Name extends Needed ? Of[Name] : z.ZodOptional<z.ZodNullable<Of[Name]>>
}

/** An object with these fields, of which those in `needed` must be there. */
export function record<Of extends Fields, const Needed extends keyof Of & string = never>(
  fields: Of,
  needed: readonly Needed[] = [],
) {
  return z.object(withOptional(fields, needed), instead('write a map'))
}

/** As `record`, and other fields are wrong. */
export function strictRecord<Of extends Fields, const Needed extends keyof Of & string = never>(
  fields: Of,
  needed: readonly Needed[] = [],
) {
  const { error } = instead('write a map')
  const names = Object.keys(fields).join(', ')
  return z.strictObject(withOptional(fields, needed), {
    error: (issue) => (issue.code === 'unrecognized_keys' ? `use one of the fields ${names}` : error(issue)),
  })
}

function withOptional<Of extends Fields, Needed extends keyof Of & string>(fields: Of, needed: readonly Needed[]) {
  return Object.fromEntries(
    Object.entries(fields).map(([name, shape]) => [
      name,
      (needed as readonly string[]).includes(name) ? shape : shape.nullish(),
    ]),
  ) as Record_<Of, Needed>
}

/** A value of which a function finds what is wrong. */
export function judged<Value>(find: (value: unknown) => Problem | undefined): z.ZodType<Value> {
  const shape = z.unknown().superRefine((value, context) => {
    const problem = isAbsent(value) ? wrong(value, 'add it') : find(value)
    if (problem !== undefined) context.addIssue({ code: 'custom', path: [...problem.path], message: problem.remedy })
  })
  return shape as z.ZodType as z.ZodType<Value>
}

export const wrong = (value: unknown, remedy: string): Problem => ({ path: [], value, remedy })

/** An object whose keys may be anything; zod's own records leave `__proto__` unchecked. */
export function map<Each extends z.ZodType>(each: Each) {
  return judged<Readonly<Record<string, z.output<Each> | null>>>((value) => {
    if (!isObject(value)) return wrong(value, 'write a map')
    for (const key of Object.keys(value)) {
      const problem = isAbsent(value[key]) ? undefined : problemOf(each, value[key])
      if (problem !== undefined) return { ...problem, path: [key, ...problem.path] }
    }
    return undefined
  })
}

/** A value of any of these shapes; the remedy names them all. */
export function anyOf<const Shapes extends readonly [z.ZodType, ...z.ZodType[]]>(remedy: string, ...shapes: Shapes) {
  return z.union(shapes, instead(remedy))
}

/** A number within bounds, both included. */
export function numberFrom(least: number, most = Number.POSITIVE_INFINITY) {
  const bounds = most === Number.POSITIVE_INFINITY ? `of ${least} or more` : `from ${least} to ${most}`
  const remedy = `write a number ${bounds}`
  const isWithin = (value: number) => value >= least && value <= most
  return z.number(instead(remedy)).refine(isWithin, { error: remedy, abort: true })
}

/** A value as errors show it: on one line, and of a long one the beginning. */
export function valueText(value: unknown): string {
  if (value === undefined) return 'is missing'
  const json = JSON.stringify(typeof value === 'string' ? shortened(value, 60) : value)
  return `is ${printable(shortened(json, 60))}`
}
