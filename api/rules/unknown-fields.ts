import type { z } from 'zod'
import type { FieldError } from '../../core/values/field-error.ts'
import { isObject } from '../../core/values/json.ts'
import { movedFields } from './moved-fields.ts'
import { jsonSchemaOf, propertiesOf, propertyOf } from './schema-errors.ts'
import { similarName } from './similar-name.ts'

/** A kind's fields, by the schema of its spec. */
interface SpecOfKind {
  /** With its version: `karpenter.sh/v1 NodePool`. */
  readonly kind: string
  readonly schema: z.ZodType
}

type Path = FieldError['path']

/** Errors with a remedy: finding it takes time, and a reader corrects the first few. */
const mostRemedies = 100
/** Names that a message lists. */
const mostNames = 15

/**
 * Returns the fields of a spec that its schema does not have, each with the field to write in its place. kubectl refuses them; most are misspelt, in
 * another place than they were, or of another version.
 */
export function unknownFields({ kind, schema }: SpecOfKind, spec: unknown): readonly FieldError[] {
  const root = jsonSchemaOf(schema)
  const found = unknownIn(root, spec, ['spec'])
  return found.map(({ path, names }, index) => {
    const remedy = index < mostRemedies ? remedyOf({ kind, root }, path, names) : 'remove it'
    return { path, message: `is not a field of this object; ${remedy}` }
  })
}

interface Unknown {
  readonly path: Path
  /** The fields that there are in its place. */
  readonly names: readonly string[]
}

function unknownIn(schema: unknown, value: unknown, path: Path): readonly Unknown[] {
  if (!isObject(schema)) return []
  if (Array.isArray(value))
    return value.flatMap((element: unknown, index) => unknownIn(schema['items'], element, [...path, index]))
  if (!isObject(value)) return []
  const known = propertiesOf(schema)
  return Object.entries(value).flatMap(([key, field]) => {
    const at = [...path, key]
    if (known !== undefined && !Object.hasOwn(known, key)) return [{ path: at, names: Object.keys(known) }]
    return unknownIn(propertyOf(schema, key), field, at)
  })
}

function remedyOf(of: { readonly kind: string; readonly root: unknown }, path: Path, names: readonly string[]): string {
  const key = String(path.at(-1))
  const moved = movedFields(of.kind, path)
  if (moved !== undefined) return moved
  const places = placesOf(key, of.root, 'spec')
  if (places.length === 1) return `its place is ${places[0]}`
  const similar = similarName(key, names)
  if (similar !== undefined) return `write ${similar}`
  return names.length > mostNames ? 'remove it' : `remove it, or write one of ${names.join(', ')}`
}

/** Where fields of a name are, except in lists and below names that users choose. */
function placesOf(key: string, schema: unknown, at: string): readonly string[] {
  if (!isObject(schema)) return []
  return Object.entries(propertiesOf(schema) ?? {}).flatMap(([name, property]) => [
    ...(name === key ? [`${at}.${name}`] : []),
    ...placesOf(key, property, `${at}.${name}`),
  ])
}
