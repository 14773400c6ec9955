import { z } from 'zod'
import { crdExtensions } from '../fields.ts'
import { flag, list, map, number, oneOf, quantity, record, text, time, wholeNumber } from './shape.ts'

/** Of the fields that the API server demands, those without which an object cannot be read. */
const indispensable: ReadonlySet<string> = new Set([
  'template',
  'spec',
  'nodeClassRef',
  'group',
  'kind',
  'name',
  'key',
  'operator',
  'effect',
  'type',
])

/**
 * Returns the shape of objects of a schema as manifests and scenarios have them: its types and the words to choose from. Patterns, bounds and rules
 * are the API server's, and what it demands may be missing where an object can be read without it.
 */
export function shapeOf(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return shapeOf(schema.unwrap() as z.ZodType)
  if (schema instanceof z.ZodObject) return objectShape(schema.shape)
  if (schema instanceof z.ZodArray) return list(shapeOf(schema.element as z.ZodType))
  if (schema instanceof z.ZodRecord) return map(shapeOf(schema.valueType as z.ZodType))
  if (schema instanceof z.ZodEnum) return oneOf(...(schema.options as string[]))
  if (schema instanceof z.ZodBoolean) return flag
  if (schema instanceof z.ZodNumber) return schema.format === 'safeint' ? wholeNumber : number
  if (crdExtensions.get(schema)?.quantity === true) return quantity
  if (schema instanceof z.ZodString) return schema.meta()?.['format'] === 'date-time' ? time : text
  throw new Error(`a schema of type ${schema.type} has no shape; add it to shapeOf`)
}

function objectShape(fields: Readonly<Record<string, z.ZodType>>): z.ZodType {
  const shapes = Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, shapeOf(schema)]))
  const needed = Object.keys(fields).filter((name) => indispensable.has(name) && !fields[name]?.isOptional())
  return record(shapes, needed)
}
