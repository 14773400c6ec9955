// JSON schema of what a value of a TypeScript type becomes as JSON, by the compiler that checks it.
import { type Checker, SymbolFlags, type Type, TypeFlags } from 'typescript/unstable/sync'

/** As much of JSON Schema (draft 2020-12) as is written here. */
export interface Schema {
  readonly description?: string
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema
}

/** Returns the schema. Errors: a type that JSON does not have, with its place. `at`: where it is, for errors. */
export function schemaOf(checker: Checker, type: Type, at: string, within: readonly number[] = []): Schema {
  const { flags } = type
  if (flags & (TypeFlags.Any | TypeFlags.Unknown | TypeFlags.NonPrimitive)) return {}
  if (type.isLiteralType()) return { const: type.value }
  if (flags & (TypeFlags.String | TypeFlags.TemplateLiteral)) return { type: 'string' }
  if (flags & TypeFlags.Number) return { type: 'number' }
  if (flags & TypeFlags.Boolean) return { type: 'boolean' }
  if (flags & TypeFlags.Null) return { type: 'null' }
  if (type.isUnionType())
    return unionOf(
      type
        .getTypes()
        .filter(isWritten)
        .map((each) => schemaOf(checker, each, at, within)),
    )
  if (!type.isObjectType() && !type.isIntersectionType())
    throw new Error(`${at}: JSON has no ${checker.typeToString(type)}`)
  if (type.getSymbol()?.name === 'Date') return { type: 'string' }
  // What contains itself is described once.
  if (within.includes(type.id)) return {}
  const inner = [...within, type.id]
  if (checker.isArrayLikeType(type) && type.isTypeReference()) {
    const items = checker.getTypeArguments(type).map((each) => schemaOf(checker, each, `${at}[]`, inner))
    return { type: 'array', items: unionOf(items) }
  }
  return objectOf(checker, type, at, inner)
}

function objectOf(checker: Checker, type: Type, at: string, within: readonly number[]): Schema {
  const properties: Record<string, Schema> = {}
  const required: string[] = []
  for (const property of checker.getPropertiesOfType(type)) {
    const own = checker.getTypeOfSymbol(property)
    if (own === undefined || !isWritten(own)) continue
    const description = property.getDocumentationComment(checker)
    const schema = schemaOf(checker, own, `${at}.${property.name}`, within)
    properties[property.name] = description === '' ? schema : { description, ...schema }
    const mayBeAbsent = own.isUnionType() && !own.getTypes().every(isWritten)
    if (!(property.flags & SymbolFlags.Optional) && !mayBeAbsent) required.push(property.name)
  }
  const [index] = checker.getIndexInfosOfType(type)
  return {
    type: 'object',
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
    ...(index && { additionalProperties: schemaOf(checker, index.valueType, `${at}.*`, within) }),
  }
}

/** What `undefined` and functions become is left out of JSON. */
const isWritten = (type: Type) => !(type.flags & (TypeFlags.Undefined | TypeFlags.Void | TypeFlags.Never))

function unionOf(all: readonly Schema[]): Schema {
  const objects = all.filter(isObject)
  const merged = objects.length > 1 && !isTagged(objects) ? [mergedOf(objects)] : objects
  const constants = all.flatMap((each) => ('const' in each ? [each.const] : []))
  const others = all.filter((each) => !isObject(each) && !('const' in each))
  const isEither = constants.includes(true) && constants.includes(false)
  const values = isEither
    ? [{ type: 'boolean' }]
    : constants.length > 1
      ? [{ enum: constants }]
      : constants.map((value) => ({ const: value }))
  const texts = new Map([...merged, ...values, ...others].map((each) => [JSON.stringify(each), each]))
  const [first = {}, ...more] = texts.values()
  return more.length === 0 ? first : { anyOf: [first, ...more] }
}

const isObject = ({ type, additionalProperties }: Schema) => type === 'object' && additionalProperties === undefined

/** Objects that a constant tells apart, such as `kind`, stay apart. */
function isTagged([first, ...others]: readonly Schema[]): boolean {
  return Object.keys(first?.properties ?? {}).some((name) => {
    const tags = [first, ...others].map((each) => each?.properties?.[name]?.const)
    return !tags.includes(undefined) && new Set(tags).size === tags.length
  })
}

/** Objects that differ in what they leave out are one, as a spread of `undefined` makes them. */
function mergedOf(all: readonly Schema[]): Schema {
  const names = [...new Set(all.flatMap(({ properties = {} }) => Object.keys(properties)))]
  const required = names.filter((name) => all.every((each) => each.required?.includes(name)))
  const properties = names.map((name) => [name, unionOf(all.flatMap((each) => each.properties?.[name] ?? []))] as const)
  return { type: 'object', properties: Object.fromEntries(properties), ...(required.length > 0 && { required }) }
}

/** Returns a schema of what has no other fields than those. */
export function strict({ properties, items, anyOf, additionalProperties, ...schema }: Schema): object {
  const own = properties && Object.entries(properties).map(([name, each]) => [name, strict(each)] as const)
  return {
    ...schema,
    ...(own && { properties: Object.fromEntries(own), additionalProperties: false }),
    ...(items && { items: strict(items) }),
    ...(anyOf && { anyOf: anyOf.map(strict) }),
    ...(additionalProperties && { additionalProperties: strict(additionalProperties) }),
  }
}
