import * as contract from '../../../../api/node-config/parse.ts'

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
  const { config, problems } = contract.parseNodeConfig(document)
  const refused = problems.find(({ kind }) => kind === 'invalid')
  if (refused !== undefined) throw new Error(`${refused.path || 'the node configuration'} is ${refused.what}`)
  return new NodeConfig(config)
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
