import { type Field, type Fields, jsonName } from './field.ts'
import { type NodeConfig, nodeConfigSchema, requiredFields } from './schema.ts'

/** Something in a configuration that the schema does not know. A node ignores what is `unknown` and refuses what is `invalid`. */
interface NodeConfigProblem {
  /** Where it stands, such as `cluster_config.vm_type`. */
  readonly path: string
  readonly kind: 'unknown' | 'invalid'
  /** What it is, without its value: a configuration holds a token. */
  readonly what: string
}

export interface ParsedNodeConfig {
  /** The known part, under the names of the protocol. */
  readonly config: NodeConfig
  readonly problems: readonly NodeConfigProblem[]
}

/**
 * Reads a configuration as the node does: names in snake case or camel case, and whatever is not known left out. Every field and enum
 * value that was left out is among the problems, so a strict reader asks for none.
 */
export function parseNodeConfig(json: unknown): ParsedNodeConfig {
  const problems: NodeConfigProblem[] = []
  const config = readMessage(json, nodeConfigSchema.fields, { path: '', problems })
  return { config: config ?? {}, problems }
}

/** The fields without which the reference validation refuses a configuration; none is success. */
export function missingFields(config: NodeConfig): readonly string[] {
  return requiredFields.filter((path) => {
    const value = path
      .split('.')
      .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], config)
    return value === undefined || value === ''
  })
}

/** Where a value stands, and the problems that have been found so far. */
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
    // In protobuf's JSON null stands for absence.
    if (value === null) continue
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
      if (typeof value === 'number' && field.names[value] !== undefined) return field.names[value]
      if (typeof value === 'string' && field.names.includes(value)) return value
      problems.push({ path, kind: 'unknown', what: 'value' })
      return undefined
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

/** Protobuf's JSON takes numbers as text too. */
function readNumber(value: unknown, kind: 'int32' | 'int64' | 'double'): number | undefined {
  const number =
    typeof value === 'number' ? value : typeof value === 'string' && value !== '' ? Number(value) : Number.NaN
  if (Number.isNaN(number)) return undefined
  if (kind === 'double') return number
  if (!Number.isInteger(number)) return undefined
  return kind === 'int32' && (number > 2 ** 31 - 1 || number < -(2 ** 31)) ? undefined : number
}

const knownNames = new WeakMap<Fields, ReadonlyMap<string, string>>()

/** The names under which the fields of a message may be given: that of the protocol and that of JSON. */
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

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const join = (path: string, name: string) => (path === '' ? name : `${path}.${name}`)
