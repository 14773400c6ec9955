import { z } from 'zod'

/** A part of an object as the API server serves it once defaults are filled in: what has a default is there. */
export type Served<Schema extends z.ZodType> = Exact<z.output<Schema>>

/** The same as it may stand in a manifest: what has a default may be missing. */
export type Given<Schema extends z.ZodType> = Exact<z.input<Schema>>

/** JSON has no `undefined`: a field that is not set is not there. */
type Exact<T> = T extends string | number | boolean
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Exact<Item>[]
    : { readonly [Key in keyof T]: Exact<Exclude<T[Key], undefined>> }

type Fill = (value: unknown) => unknown

/**
 * Fills in a schema's defaults as the API server does: where a field is missing, and within what a default brings. Nothing is checked, since the API
 * server has refused what the CRD, which is generated from the schema, does not take. What is complete is returned as it is.
 */
export function withDefaults<Schema extends z.ZodType>(schema: Schema, value: unknown): Served<Schema> {
  return fillOf(schema)(value) as Served<Schema>
}

const fills = new WeakMap<z.ZodType, Fill>()

function fillOf(schema: z.ZodType): Fill {
  let fill = fills.get(schema)
  if (fill === undefined) {
    fill = makeFill(schema)
    fills.set(schema, fill)
  }
  return fill
}

const asItIs: Fill = (value) => value

function makeFill(schema: z.ZodType): Fill {
  if (schema instanceof z.ZodOptional) {
    const inner = fillOf(schema.unwrap() as z.ZodType)
    return inner === asItIs ? asItIs : (value) => (value === undefined ? undefined : inner(value))
  }
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    const inner = fillOf(schema.unwrap() as z.ZodType)
    return (value) => inner(value === undefined || value === null ? schema.def.defaultValue : value)
  }
  if (schema instanceof z.ZodArray) return fillItems(fillOf(schema.element as z.ZodType))
  return schema instanceof z.ZodObject ? fillFields(schema.shape) : asItIs
}

function fillItems(fill: Fill): Fill {
  return fill === asItIs ? asItIs : (value) => (Array.isArray(value) ? value.map(fill) : value)
}

function fillFields(shape: Readonly<Record<string, z.ZodType>>): Fill {
  const fields = Object.entries(shape).flatMap(([name, schema]) => {
    const fill = fillOf(schema)
    return fill === asItIs ? [] : [[name, fill] as const]
  })
  if (fields.length === 0) return asItIs
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const given = value as Readonly<Record<string, unknown>>
    const changed = fields.flatMap(([name, fill]) => {
      const filled = fill(given[name])
      return filled === given[name] ? [] : [[name, filled] as const]
    })
    return changed.length === 0 ? value : { ...given, ...Object.fromEntries(changed) }
  }
}
