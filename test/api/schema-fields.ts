import { sample, stringMatching } from 'fast-check'
import { z } from 'zod'

type Json = Readonly<Record<string, unknown>>
type Path = readonly (string | number)[]

interface Schema {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema
}

/** A field that holds a value of its own: no object or list of objects, whose fields these are. */
export interface SchemaField {
  /** Such as `template.spec.taints.key`, without the indexes of lists. */
  readonly name: string
  /** With them: of each list the first element. */
  readonly path: Path
  readonly schema: Schema
}

/** All fields of a schema of `api/`. */
export function fieldsOf(schema: z.ZodType): readonly SchemaField[] {
  return leaves(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }) as Schema, [])
}

function leaves(schema: Schema, path: Path): readonly SchemaField[] {
  if (schema.properties !== undefined)
    return Object.entries(schema.properties).flatMap(([key, inner]) => leaves(inner, [...path, key]))
  if (schema.items?.properties !== undefined) return leaves(schema.items, [...path, 0])
  return [{ name: path.filter((key) => key !== 0).join('.'), path, schema }]
}

/** Whether a field or an object around it is among these names. */
export function isAmong({ name }: Pick<SchemaField, 'name'>, names: readonly string[]): boolean {
  return names.some((one) => `${name}.`.startsWith(`${one}.`))
}

/** Values that a field may have, at least one of which is another than the one that is there. `samples` go by a field's whole or last name. */
export function valuesOf({ name, path, schema }: SchemaField, samples: Json = {}): readonly unknown[] {
  const given = samples[name] ?? samples[String(path.at(-1))]
  return given === undefined ? valuesOfSchema(schema) : [given]
}

function valuesOfSchema({
  type,
  enum: names,
  minimum = 0,
  pattern,
  items,
  additionalProperties,
}: Schema): readonly unknown[] {
  if (names !== undefined) return [...names]
  if (type === 'boolean') return [true, false]
  if (type === 'integer') return [minimum + 1, minimum + 2]
  if (items !== undefined) return valuesOfSchema(items).map((value) => [value])
  if (additionalProperties !== undefined)
    return valuesOfSchema(additionalProperties).map((value) => ({ 'example.com/a': value }))
  return pattern === undefined ? ['sample', 'other'] : textsMatching(pattern)
}

/** What matches a pattern matches it also "without regard to case", as Go writes it at the beginning. */
function textsMatching(pattern: string): readonly string[] {
  return sample(stringMatching(new RegExp(pattern.replace('(?i)', ''))), { numRuns: 3, seed: 1 })
}

/** An object in which a field has another value; objects on the way are made where they are missing. */
export function withValue(object: Json, { path }: Pick<SchemaField, 'path'>, value: unknown): Json {
  return replaced(object, path, value) as Json
}

function replaced(object: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return value
  if (typeof key === 'number') {
    const list: readonly unknown[] = Array.isArray(object) ? object : []
    return Array.from({ length: Math.max(list.length, key + 1) }, (_, at) =>
      at === key ? replaced(list[at], rest, value) : list[at],
    )
  }
  const fields = (object ?? {}) as Json
  return { ...fields, [key]: replaced(fields[key], rest, value) }
}

/** An object with all objects and lists of objects that the schema has, and no other field in them. */
export function skeletonOf(schema: z.ZodType): Json {
  return fieldsOf(schema).reduce<Json>(
    (object, { path }) =>
      path.length === 1
        ? object
        : withValue(object, { path: path.slice(0, -1) }, valueAt(object, path.slice(0, -1)) ?? {}),
    {},
  )
}

function valueAt(object: unknown, path: Path): unknown {
  return path.reduce((at, key) => (at as Readonly<Record<string | number, unknown>> | undefined)?.[key], object)
}
