// Compares the body of a request with the models of an SDK.
import type { Models, ModelType } from './models.ts'

/** A field that bodies have. */
export interface SentField {
  /** Path on the wire; `[]` stands for any entry of a list, `*` for any name of a map. */
  readonly path: string
  /** Name of the enum, and the values of it that are sent. */
  readonly enum?: string
  readonly values: readonly string[]
  /** What the models say against it. */
  readonly problems: readonly string[]
}

type Json = Readonly<Record<string, unknown>>

/** Returns the fields of bodies of one type, in the order of their paths. */
export function sentFields(bodies: readonly unknown[], models: Models, root: string): readonly SentField[] {
  const found = bodies.flatMap((body) => fieldsIn(body, { models, type: { kind: 'object', name: root }, path: '' }))
  return [...Map.groupBy(found, ({ path }) => path).values()]
    .map((same) => ({
      ...(same[0] as SentField),
      values: [...new Set(same.flatMap(({ values }) => values))].toSorted(),
      problems: [...new Set(same.flatMap(({ problems }) => problems))],
    }))
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
}

interface Place {
  readonly models: Models
  readonly type: ModelType
  readonly path: string
}

function fieldsIn(value: unknown, place: Place): readonly SentField[] {
  const { type, path } = place
  if (Array.isArray(value)) {
    const of = type.kind === 'list' ? type.of : type
    return value.length === 0
      ? [leaf(path)]
      : value.flatMap((one) => fieldsIn(one, { ...place, type: of, path: `${path}[]` }))
  }
  if (type.kind === 'enum') {
    const isKnown = type.values.includes(String(value))
    return [
      {
        ...leaf(
          path,
          isKnown ? undefined : `"${String(value)}" is no value of ${type.name}: ${type.values.join(', ')}`,
        ),
        enum: type.name,
        values: [String(value)],
      },
    ]
  }
  if (typeof value !== 'object' || value === null) return [leaf(path)]
  if (type.kind === 'object') return fieldsOfObject(value as Json, place, type.name)
  const entries = Object.values(value)
  if (type.kind !== 'map' || entries.length === 0) return [leaf(path)]
  return entries.flatMap((one) => fieldsIn(one, { ...place, type: type.of, path: `${path}.*` }))
}

function fieldsOfObject(value: Json, { models, path, type }: Place, name: string): readonly SentField[] {
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = path === '' ? key : `${path}.${key}`
    if (key === 'properties' && models.isFlat(name)) return fieldsIn(inner, { models, type, path: at })
    const field = models.field(name, key, /(^|\.)properties$/.test(path))
    if (field === undefined) return [leaf(at, `${name} has no such field`)]
    if (field.isReadOnly) return [leaf(at, `${name} does not take it, it is read-only`)]
    return fieldsIn(inner, { models, type: field.type, path: at })
  })
}

function leaf(path: string, problem?: string): SentField {
  return { path, values: [], problems: problem === undefined ? [] : [problem] }
}
