import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import { isMap } from '../../../fakes/patches.ts'
import { jsonCopy } from './json-copy.ts'

interface Schema {
  readonly type?: string
  readonly default?: unknown
  readonly nullable?: boolean
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
}

/** What kubectl prints of an object. */
export interface Column {
  readonly name: string
  readonly jsonPath: string
  readonly priority?: number
}

interface Crd {
  readonly spec: {
    readonly names: { readonly plural: string }
    readonly versions: readonly {
      readonly name: string
      readonly storage: boolean
      readonly additionalPrinterColumns?: readonly Column[]
      readonly subresources?: { readonly scale?: { readonly statusReplicasPath: string } }
      readonly schema: { readonly openAPIV3Schema: Schema }
    }[]
  }
}

const folder = fileURLToPath(new URL('../../../../deploy/crds/', import.meta.url))

type Stored = Crd['spec']['versions'][number]

let kept: ReadonlyMap<string, Stored> | undefined

function storedVersion(resource: string): Stored | undefined {
  kept ??= new Map(
    readdirSync(folder).flatMap((file) => {
      const { names, versions } = (parse(readFileSync(folder + file, 'utf8')) as Crd).spec
      const stored = versions.find(({ storage }) => storage)
      return stored === undefined ? [] : [[names.plural, stored] as const]
    }),
  )
  return kept.get(resource)
}

/** Returns the schema of a resource of Joiner's CRDs as it is stored; undefined for other resources. */
export function schemaOf(resource: string): Schema | undefined {
  return storedVersion(resource)?.schema.openAPIV3Schema
}

/** Returns the field of the status in which a scale finds how many replicas there are. */
export function replicasFieldOf(resource: string): string {
  return storedVersion(resource)?.subresources?.scale?.statusReplicasPath.replace('.status.', '') ?? 'replicas'
}

/** Returns what kubectl prints of a resource of Joiner's CRDs besides the name. */
export function columnsOf(resource: string): readonly Column[] {
  return storedVersion(resource)?.additionalPrinterColumns ?? []
}

const isFree = (schema: Schema) => schema['x-kubernetes-preserve-unknown-fields'] === true

/** Returns a value with the schema's defaults, and without fields that it does not know. */
export function structured(schema: Schema, value: unknown): unknown {
  if (Array.isArray(value))
    return schema.items === undefined ? value : value.map((one) => structured(schema.items as Schema, one))
  if (!isMap(value)) return value
  const { properties = {}, additionalProperties } = schema
  const result: Json = {}
  for (const [key, own] of Object.entries(value)) {
    const known = properties[key] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
    // A null where none may be is as if nothing were there, if there is a default.
    if (own === null && known?.default !== undefined && known.nullable !== true) continue
    if (known !== undefined) result[key] = structured(known, own)
    else if (isFree(schema) || additionalProperties === true) result[key] = own
  }
  for (const [key, known] of Object.entries(properties))
    if (known.default !== undefined && !(key in result)) result[key] = structured(known, jsonCopy(known.default))
  return result
}

/** Returns what is wrong with a value: field and problem. Rules in CEL are not looked at. */
export function schemaErrors(schema: Schema, value: unknown, at: string): readonly string[] {
  if (value === undefined || (value === null && schema.nullable === true)) return []
  if (!isOfType(schema, value)) return [`${at}: must be of type ${schema.type ?? 'integer or string'}`]
  const wrong = [...valueErrors(schema, value)].map((problem) => `${at}: ${problem}`)
  if (Array.isArray(value))
    return [...wrong, ...value.flatMap((one, index) => schemaErrors(schema.items ?? {}, one, `${at}[${index}]`))]
  if (!isMap(value)) return wrong
  const { properties = {}, additionalProperties } = schema
  const missing = (schema.required ?? []).filter((key) => !(key in value)).map((key) => `${at}.${key}: Required value`)
  const inner = Object.entries(value).flatMap(([key, own]) => {
    const known = properties[key] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
    return known === undefined ? [] : schemaErrors(known, own, `${at}.${key}`)
  })
  return [...wrong, ...missing, ...inner]
}

function isOfType(schema: Schema, value: unknown): boolean {
  if (schema['x-kubernetes-int-or-string'] === true) return Number.isInteger(value) || typeof value === 'string'
  switch (schema.type) {
    case 'object':
      return isMap(value)
    case 'array':
      return Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
    case undefined:
      return true
    default:
      return typeof value === schema.type
  }
}

function* valueErrors(schema: Schema, value: unknown): Generator<string> {
  if (schema.enum !== undefined && !schema.enum.includes(value)) yield 'Unsupported value'
  if (typeof value === 'number') {
    if (value < (schema.minimum ?? value)) yield `should be greater than or equal to ${schema.minimum}`
    if (value > (schema.maximum ?? value)) yield `should be less than or equal to ${schema.maximum}`
  } else if (typeof value === 'string') {
    if (schema.pattern !== undefined && !expressionOf(schema.pattern).test(value))
      yield `Invalid value: "${value}": should match '${schema.pattern}'`
    yield* sizeErrors(value.length, schema.minLength, schema.maxLength)
  } else if (Array.isArray(value)) yield* sizeErrors(value.length, schema.minItems, schema.maxItems)
  else if (isMap(value)) yield* sizeErrors(Object.keys(value).length, undefined, schema.maxProperties)
}

const expressions = new Map<string, RegExp>()

/** A pattern as Go reads it: flags of the whole are before it. */
function expressionOf(pattern: string): RegExp {
  const known = expressions.get(pattern)
  if (known !== undefined) return known
  const [, flags = '', rest = ''] = /^(?:\(\?([a-z]+)\))?(.*)$/s.exec(pattern) ?? []
  // Go lets characters be escaped that need not be.
  const made = new RegExp(
    rest.replaceAll(/\\([-_])(?=[^\]]*\])/g, (_, one: string) => (one === '-' ? '\\-' : one)),
    `${flags}u`,
  )
  expressions.set(pattern, made)
  return made
}

function* sizeErrors(size: number, least = 0, most = Number.POSITIVE_INFINITY): Generator<string> {
  if (size < least) yield `must have at least ${least}`
  if (size > most) yield `must have at most ${most}`
}
