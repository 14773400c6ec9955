import { z } from 'zod'
import type { FieldError } from '../../core/values/field-error.ts'
import { isObject } from '../../core/values/json.ts'
import { shortened } from '../../core/values/texts.ts'
import { type CrdExtensions, crdExtensions } from '../fields.ts'
import { valueAt } from '../shapes/shape.ts'
import { CelScope, compileCel } from './cel.ts'
import { schemasAhead } from './parsed-ahead.ts'
import { wordingOf } from './wording.ts'

type Json = Readonly<Record<string, unknown>>

/** The API server's result for a part of an object; without errors it is accepted. */
interface Judgement {
  readonly errors: readonly FieldError[]
  /** The value that it would store, with defaults and without unknown fields; unset when types or patterns are wrong. */
  readonly known?: unknown
}

/**
 * Validates a value by a schema of `api/` as the API server does by the generated CRD: types, patterns, bounds and CEL rules. Rules about changes are
 * skipped, since there is no earlier object. Nulls count as missing fields. Paths begin with `path`.
 */
export function judge(schema: z.ZodType, given: unknown, path: FieldError['path']): Judgement {
  const json = jsonSchemaOf(schema)
  // Compiling a schema to code takes longer than the few objects that are judged.
  const parsed = schema.safeParse(forZod(json, withoutNulls(given)), { jitless: true })
  if (!parsed.success) {
    const errors = parsed.error.issues.map((issue) => {
      const at = (issue.path as (string | number)[]).map(keyOf)
      return { path: [...path, ...at], message: wordingOf(issue, valueAt(given, at)) }
    })
    // An empty text also breaks the pattern of its field, in other words.
    const places = new Set<string>()
    return { errors: errors.filter((error) => places.size !== places.add(JSON.stringify(error.path)).size) }
  }
  const errors = ruleErrors(json, parsed.data, path)
  return { errors: errors.map((error) => ({ ...error, path: error.path.map(keyOf) })), known: parsed.data }
}

/** The key `__proto__` while zod looks, which would neither check nor keep it. It is as wrong a name as its own. */
const protoKey = '__proto__ '

const keyOf = (key: string | number) => (key === protoKey ? '__proto__' : key)

/** Removes nulls: to the API server a null is a missing field. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const fields = Object.entries(value).filter(([, field]) => field !== null)
  return Object.fromEntries(fields.map(([key, field]) => [key, withoutNulls(field)]))
}

/** Writes quantities as texts, which may be numbers, and `__proto__` as a key that zod sees. */
function forZod(schema: unknown, value: unknown): unknown {
  if (!isObject(schema)) return value
  if (Array.isArray(value)) return value.map((element: unknown) => forZod(schema['items'], element))
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, field]) => [
        key === '__proto__' ? protoKey : key,
        forZod(propertyOf(schema, key), field),
      ]),
    )
  return extensionsOf(schema).quantity === true && Number.isInteger(value) ? String(value) : value
}

/** Returns the schema of a field. */
export function propertyOf(schema: Json, key: string): unknown {
  const properties = propertiesOf(schema) ?? {}
  return Object.hasOwn(properties, key) ? properties[key] : schema['additionalProperties']
}

/** Returns the fields of a schema; undefined for one of maps whose keys are free. */
export function propertiesOf({ properties }: Json): Json | undefined {
  return isObject(properties) ? properties : undefined
}

const jsonSchemas = new WeakMap<z.ZodType, Json>()

/** Returns the schema as JSON, with our extensions under `x-extensions`. It is constant, and made once. */
export function jsonSchemaOf(schema: z.ZodType): Json {
  let json = jsonSchemas.get(schema)
  if (json === undefined) {
    json = schemasAhead.get(schema)?.() ?? writtenAsJson(schema)
    jsonSchemas.set(schema, json)
  }
  return json
}

function writtenAsJson(schema: z.ZodType): Json {
  return z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', override: withExtensions }) as Json
}

function withExtensions({ zodSchema, jsonSchema }: { zodSchema: unknown; jsonSchema: object }): void {
  const extensions = crdExtensions.get(zodSchema as z.ZodType)
  if (extensions !== undefined) (jsonSchema as Record<string, unknown>)['x-extensions'] = extensions
}

/** Returns the errors that zod does not find by itself. */
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
    .filter(({ rule }) => !/\boldSelf\b/.test(rule) && !compileCel(rule).holds(scope))
    .map(({ message }) => message)
}

function boundErrors(schema: Json, value: unknown): readonly string[] {
  const { listType, listMapKeys = [] } = extensionsOf(schema)
  const most = schema['maxProperties']
  if (isObject(value) && typeof most === 'number' && Object.keys(value).length > most)
    return [`must have at most ${most} entries`]
  if (schema['format'] === 'date-time' && !isDateTime(String(value)))
    return [`"${shortened(String(value))}" is not a time such as 2026-01-31T12:00:00Z`]
  // Zod checks its own patterns; this one needs Go's syntax.
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

/** Checks the format as the API server does (k8s.io/kube-openapi, strfmt.IsDateTime): the day must exist, and zones are ignored. */
function isDateTime(text: string): boolean {
  const [, year = '', month = '', day = '', hour = '', minute = '', second = ''] =
    /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:.\d+)?(?:[zZ]|[+-]\d{2}:\d{2})$/.exec(text) ?? []
  const days = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  const isDay = Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= days
  return isDay && hour <= '23' && minute <= '59' && second <= '59'
}
