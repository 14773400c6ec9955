import { z } from 'zod'
import type { FieldError } from '../../core/values/field-error.ts'
import { isObject } from '../../core/values/shape.ts'
import { shortened } from '../../core/values/shortened.ts'
import { type CrdExtensions, crdExtensions } from '../fields.ts'
import { CelScope, compileCel } from './cel.ts'

type Json = Readonly<Record<string, unknown>>

/** What the API server makes of a part of an object; no errors: it accepts it. */
interface Judgement {
  readonly errors: readonly FieldError[]
  /** What it would store, with defaults and without unknown fields; absent where types or patterns are wrong. */
  readonly known?: unknown
}

/**
 * Judges a value by a schema of `api/` as the API server does by the CRD that is generated of it: types, patterns, bounds and CEL rules, but for
 * rules about changes, since there is no earlier object. Nulls are fields that are not there. Paths begin with `path`.
 */
export function judge(schema: z.ZodType, given: unknown, path: FieldError['path']): Judgement {
  const json = jsonSchemaOf(schema)
  const parsed = schema.safeParse(withQuantityTexts(json, withoutNulls(given)))
  if (!parsed.success) {
    const errors = parsed.error.issues.map((issue) => ({
      path: [...path, ...(issue.path as (string | number)[])],
      message: issue.message,
    }))
    return { errors }
  }
  return { errors: ruleErrors(json, parsed.data, path), known: parsed.data }
}

/** To the API server a null is a field that is not there. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const fields = Object.entries(value).filter(([, field]) => field !== null)
  return Object.fromEntries(fields.map(([key, field]) => [key, withoutNulls(field)]))
}

/** A quantity may be written as a number. */
function withQuantityTexts(schema: unknown, value: unknown): unknown {
  if (!isObject(schema)) return value
  if (Array.isArray(value)) return value.map((element: unknown) => withQuantityTexts(schema['items'], element))
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, field]) => [key, withQuantityTexts(propertyOf(schema, key), field)]),
    )
  return extensionsOf(schema).quantity === true && Number.isInteger(value) ? String(value) : value
}

function propertyOf({ properties, additionalProperties }: Json, key: string): unknown {
  return isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : additionalProperties
}

const jsonSchemas = new WeakMap<z.ZodType, Json>()

/** The schema as JSON, with what JSON Schema has no word for under `x-extensions`. It is the same each time, and made once. */
function jsonSchemaOf(schema: z.ZodType): Json {
  let json = jsonSchemas.get(schema)
  if (json === undefined) {
    json = z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', override: withExtensions }) as Json
    jsonSchemas.set(schema, json)
  }
  return json
}

function withExtensions({ zodSchema, jsonSchema }: { zodSchema: unknown; jsonSchema: object }): void {
  const extensions = crdExtensions.get(zodSchema as z.ZodType)
  if (extensions !== undefined) (jsonSchema as Record<string, unknown>)['x-extensions'] = extensions
}

/** What zod does not check by itself. */
function ruleErrors(schema: unknown, value: unknown, path: FieldError['path']): FieldError[] {
  if (!isObject(schema) || value === undefined) return []
  const own = [...celErrors(schema, value), ...boundErrors(schema, value)].map((message) => ({ path, message }))
  const { items, allOf } = schema
  const parts = Array.isArray(allOf) ? allOf.flatMap((part: unknown) => ruleErrors(part, value, path)) : []
  if (Array.isArray(value))
    return [
      ...own,
      ...parts,
      ...value.flatMap((element: unknown, index) => ruleErrors(items, element, [...path, index])),
    ]
  if (!isObject(value)) return [...own, ...parts]
  const inner = Object.entries(value).flatMap(([key, field]) =>
    ruleErrors(propertyOf(schema, key), field, [...path, key]),
  )
  return [...own, ...parts, ...inner]
}

function celErrors(schema: Json, value: unknown): readonly string[] {
  const { cel = [] } = extensionsOf(schema)
  if (cel.length === 0) return []
  const scope = new CelScope({ self: value })
  return cel
    .filter(({ rule }) => {
      const expression = compileCel(rule)
      return !expression.identifiers.has('oldSelf') && !expression.holds(scope)
    })
    .map(({ message }) => message)
}

function boundErrors(schema: Json, value: unknown): readonly string[] {
  const { listType, listMapKeys = [] } = extensionsOf(schema)
  const most = schema['maxProperties']
  if (isObject(value) && typeof most === 'number' && Object.keys(value).length > most)
    return [`must have at most ${most} entries`]
  if (schema['format'] === 'date-time' && !isDateTime(String(value)))
    return [`"${shortened(String(value))}" is not a time such as 2026-01-31T12:00:00Z`]
  // Zod checks its own patterns; this is one that only Go's syntax can write.
  const { pattern } = schema
  if (
    typeof pattern === 'string' &&
    pattern.startsWith('(?i)') &&
    !new RegExp(pattern.slice(4), 'i').test(String(value))
  )
    return [`"${shortened(String(value))}" does not match ${pattern}`]
  if (!Array.isArray(value) || (listType !== 'set' && listType !== 'map')) return []
  const keys = value.map((entry: unknown) =>
    JSON.stringify(listType === 'map' && isObject(entry) ? listMapKeys.map((key) => entry[key]) : entry),
  )
  const seen = new Set<string>()
  const twice = keys.find((key) => seen.size === seen.add(key).size)
  return twice === undefined ? [] : [`has ${twice} more than once`]
}

const extensionsOf = (schema: Json) => (schema['x-extensions'] ?? {}) as CrdExtensions

/** As the API server judges the format (k8s.io/kube-openapi, strfmt.IsDateTime): the day has to exist, and zones are not looked at. */
function isDateTime(text: string): boolean {
  const [, year = '', month = '', day = '', hour = '', minute = '', second = ''] =
    /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:.\d+)?(?:[zZ]|[+-]\d{2}:\d{2})$/.exec(text) ?? []
  const days = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  const isDay = Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= days
  return isDay && hour <= '23' && minute <= '59' && second <= '59'
}
