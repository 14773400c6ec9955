import type { FieldType, Message } from './message-schema.ts'
import { configuration, jsonNames } from './node-config-schema.ts'

type Value = string | number | boolean | readonly string[] | Fields

/** A message as it was read: fields by their own names; what the node does not know is left out. */
export interface Fields {
  readonly [field: string]: Value
}

/**
 * Reads a node configuration as the node does: fields by their own or their JSON name; unknown fields and unknown values of
 * enumerations are passed over, so that a newer client can talk to an older image (reference/bootstrap.md 4).
 * Errors: text that is no JSON object; a field of another type; a field that is given under both its names.
 */
export function parseNodeConfig(text: string): NodeConfig {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    // The parser's own message quotes the text, and the text holds a token.
    throw new Error('the node configuration is not JSON')
  }
  return new NodeConfig(readMessage(configuration, document, ''))
}

/** A node configuration; every field can be asked for, by a path such as `cluster_config.location`. */
export class NodeConfig {
  readonly #root: Fields

  constructor(root: Fields) {
    this.#root = root
  }

  has(path: string): boolean {
    return this.#at(path) !== undefined
  }

  text(path: string, absent = ''): string {
    const value = this.#at(path)
    return typeof value === 'string' ? value : absent
  }

  number(path: string, absent = 0): number {
    const value = this.#at(path)
    return typeof value === 'number' ? value : absent
  }

  flag(path: string, absent = false): boolean {
    const value = this.#at(path)
    return typeof value === 'boolean' ? value : absent
  }

  list(path: string): readonly string[] {
    const value = this.#at(path)
    return Array.isArray(value) ? (value as readonly string[]) : []
  }

  message(path: string): Fields | undefined {
    const value = this.#at(path)
    return typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : undefined
  }

  #at(path: string): Value | undefined {
    return path
      .split('.')
      .reduce<Value | undefined>(
        (found, name) => (typeof found === 'object' ? (found as Fields)[name] : undefined),
        this.#root,
      )
  }
}

/** The JSON name of a field. */
export function jsonName(field: string): string {
  return jsonNames[field] ?? field.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function readMessage(message: Message, document: unknown, path: string): Fields {
  const object = objectAt(document, path)
  const each = message['*']
  if (each !== undefined) return mapEntries(object, (value, key) => read(each, value, `${path}.${key}`))
  const names = new Map(Object.keys(message).flatMap((field) => [[field, field] as const, [jsonName(field), field]]))
  const fields: Record<string, Value> = {}
  for (const [name, value] of Object.entries(object)) {
    const field = names.get(name)
    const type = field === undefined ? undefined : message[field]
    if (field === undefined || type === undefined || value === null) continue
    const at = path === '' ? field : `${path}.${field}`
    if (field in fields) throw new Error(`${at} is given twice, as ${field} and as ${jsonName(field)}`)
    const known = read(type, value, at)
    if (known !== undefined) fields[field] = known
  }
  return fields
}

function read(type: FieldType, value: unknown, path: string): Value | undefined {
  if (typeof type === 'object')
    return isEnumeration(type) ? readName(type, value, path) : readMessage(type, value, path)
  switch (type) {
    case 'string[]':
      if (!Array.isArray(value)) throw wrong(path, 'a list')
      return value.map((entry) => scalar('string', entry, path) as string)
    case 'string{}':
      return mapEntries(objectAt(value, path), (entry, key) => scalar('string', entry, `${path}.${key}`))
    case 'bool{}':
      return mapEntries(objectAt(value, path), (entry, key) => scalar('bool', entry, `${path}.${key}`))
    default:
      return scalar(type.replace('?', ''), value, path)
  }
}

const isEnumeration = (type: readonly string[] | Message): type is readonly string[] => Array.isArray(type)

/** A name, or a number of an enumeration; undefined: not one that the node knows. */
function readName(names: readonly string[], value: unknown, path: string): string | undefined {
  if (typeof value === 'number') return names[value]
  if (typeof value !== 'string') throw wrong(path, 'the name of an enumeration')
  return names.includes(value) ? value : undefined
}

const limits: Readonly<Record<string, number>> = { int32: 2 ** 31, int64: 2 ** 63 }

function scalar(type: string, value: unknown, path: string): string | number | boolean {
  if (type === 'string' || type === 'bool') {
    if (typeof value !== (type === 'bool' ? 'boolean' : type))
      throw wrong(path, type === 'bool' ? 'a boolean' : 'a text')
    return value as string | boolean
  }
  // Numbers may be written as texts.
  const isNumeric = typeof value === 'number' || (typeof value === 'string' && value.trim() === value && value !== '')
  const number = isNumeric ? Number(value) : Number.NaN
  const limit = limits[type]
  if (limit === undefined && !Number.isNaN(number)) return number
  if (limit === undefined || !Number.isInteger(number) || number >= limit || number < -limit)
    throw wrong(path, `a number of type ${type}`)
  return number
}

function objectAt(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong(path || 'the node configuration', 'an object')
  return value as Readonly<Record<string, unknown>>
}

function mapEntries(
  object: Readonly<Record<string, unknown>>,
  value: (entry: unknown, key: string) => Value | undefined,
): Fields {
  const entries = Object.entries(object).map(([key, entry]) => [key, value(entry, key)] as const)
  return Object.fromEntries(entries.filter((entry): entry is [string, Value] => entry[1] !== undefined))
}

/** Says where, never what: the value may be the token. */
function wrong(path: string, expected: string): Error {
  return new Error(`${path} is not ${expected}`)
}
