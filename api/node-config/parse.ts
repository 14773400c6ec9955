import { isObject } from '../../core/values/json.ts'
import { type Field, type Fields, jsonName } from './field.ts'
import { type NodeConfig, nodeConfigSchema, requiredFields } from './schema.ts'

/** A part of a configuration that the schema does not have. A node ignores `unknown` parts and refuses `invalid` ones. */
interface NodeConfigProblem {
  /** Path of the part, such as `cluster_config.vm_type`. */
  readonly path: string
  readonly kind: 'unknown' | 'invalid'
  /** Description without the value: a configuration holds a token. */
  readonly what: string
}

export interface ParsedNodeConfig {
  /** The known part, under the protocol's names. */
  readonly config: NodeConfig
  readonly problems: readonly NodeConfigProblem[]
}

/**
 * Reads a configuration as the node does: names in snake case or camel case, unknown parts left out. Every field and enum value that was left out is
 * reported, so a strict reader requires that there are no problems.
 */
export function parseNodeConfig(json: unknown): ParsedNodeConfig {
  const problems: NodeConfigProblem[] = []
  const config = readMessage(json, nodeConfigSchema.fields, { path: '', problems })
  return { config: config ?? {}, problems }
}

/** Returns the missing fields without which the reference validation refuses a configuration; empty on success. */
export function missingFields(config: NodeConfig): readonly string[] {
  return requiredFields.filter((path) => {
    const value = path
      .split('.')
      .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], config)
    return value === undefined || value === ''
  })
}

/** Path of a value, and the problems found so far. */
interface Place {
  readonly path: string
  readonly problems: NodeConfigProblem[]
}

function readMessage(json: unknown, fields: Fields, place: Place): unknown {
  if (!isObject(json)) return refuse(place, 'not an object')
  const { problems } = place
  const names = namesOf(fields)
  const result: Record<string, unknown> = {}
  for (const [given, value] of Object.entries(json)) {
    const name = names.get(given)
    const path = join(place.path, name ?? given)
    if (name === undefined) {
      problems.push({ path, kind: 'unknown', what: 'field' })
      continue
    }
    // In protobuf's JSON null means absence.
    if (value === null) continue
    if (name in result) {
      refuse({ path, problems }, 'given under both of its names')
      continue
    }
    const read = readValue(value, fields[name] as Field, { path, problems })
    if (read !== undefined) result[name] = read
  }
  return result
}

function readValue(value: unknown, field: Field, place: Place): unknown {
  const { path, problems } = place
  switch (field.kind) {
    case 'string':
      return typeof value === 'string' ? value : refuse(place, 'not a text')
    case 'bool':
      return typeof value === 'boolean' ? value : refuse(place, 'not true or false')
    case 'int32':
    case 'int64':
    case 'double':
      return readNumber(value, field.kind) ?? refuse(place, `not a number (${field.kind})`)
    case 'enum':
      return readName(value, field.names, place)
    case 'message':
      return readMessage(value, field.fields, place)
    case 'list':
      if (!Array.isArray(value)) return refuse(place, 'not a list')
      return value.map((item, index) => readValue(item, field.of, { path: `${path}[${index}]`, problems }))
    case 'map':
      if (!isObject(value)) return refuse(place, 'not an object')
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [
          key,
          readValue(item, field.of, { path: `${path}["${key}"]`, problems }),
        ]),
      )
  }
}

/** Protobuf's JSON accepts the number of a name too. */
function readName(value: unknown, names: readonly string[], place: Place): string | undefined {
  if (typeof value === 'number' && names[value] !== undefined) return names[value]
  if (typeof value === 'string' && names.includes(value)) return value
  if (typeof value !== 'string' && typeof value !== 'number') return refuse(place, 'not the name of an enumeration')
  place.problems.push({ path: place.path, kind: 'unknown', what: 'value' })
  return undefined
}

/** Protobuf's JSON accepts numbers as text too. */
function readNumber(value: unknown, kind: 'int32' | 'int64' | 'double'): number | undefined {
  const isNumeric = typeof value === 'number' || (typeof value === 'string' && value.trim() === value && value !== '')
  const number = isNumeric ? Number(value) : Number.NaN
  if (kind === 'double') return Number.isNaN(number) ? undefined : number
  const limit = kind === 'int32' ? 2 ** 31 : 2 ** 63
  return Number.isInteger(number) && number >= -limit && number < limit ? number : undefined
}

const knownNames = new WeakMap<Fields, ReadonlyMap<string, string>>()

/** Returns the accepted names of a message's fields: those of the protocol and of JSON. */
function namesOf(fields: Fields): ReadonlyMap<string, string> {
  let names = knownNames.get(fields)
  if (names === undefined) {
    names = new Map(
      Object.entries(fields).flatMap(([name, field]) => [
        [name, name],
        [jsonName(name, field), name],
      ]),
    )
    knownNames.set(fields, names)
  }
  return names
}

function refuse({ path, problems }: Place, what: string): undefined {
  problems.push({ path, kind: 'invalid', what })
  return undefined
}

const join = (path: string, name: string) => (path === '' ? name : `${path}.${name}`)
