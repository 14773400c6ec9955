import { isAlias, isMap, isScalar, isSeq, type LineCounter, type ParsedNode, Scalar } from 'yaml'
import { isObject, mostLevels } from '../../core/values/json.ts'
import { printableStart } from '../../core/values/printable.ts'

/** Why a document cannot be read, and where. */
export interface YamlProblem {
  readonly line: number
  readonly message: string
}

/** Most characters that aliases may repeat in a document. */
const mostRepeated = 1024 * 1024
/** Most problems of one document; the first few are enough. */
export const mostProblems = 20
const longestName = 60

/** Returns the value of a document's contents, with anchors' values shared by their aliases. The value is meaningless when there are problems. */
export function valueOf(
  contents: ParsedNode | null,
  lines: LineCounter,
): { readonly value: unknown; readonly problems: readonly YamlProblem[] } {
  const reading = new Reading(lines)
  const value = contents === null ? null : reading.value(contents, 1)
  return { value, problems: reading.problems }
}

interface Anchored {
  readonly value: unknown
  readonly size: number
  readonly height: number
}

type MapNode = Extract<ParsedNode, { items: readonly { key: unknown }[] }>

class Reading {
  readonly problems: YamlProblem[] = []
  readonly #lines: LineCounter
  /** `open`: its value is being read. */
  readonly #anchors = new Map<string, Anchored | 'open'>()
  #size = 0
  #repeated = 0
  /** The deepest level seen since it was last set. */
  #deepest = 0

  constructor(lines: LineCounter) {
    this.#lines = lines
  }

  value(node: ParsedNode, depth: number): unknown {
    if (isAlias(node)) return this.#alias(node.source, node, depth)
    if (node.anchor === undefined) return this.#plain(node, depth)
    const before = { size: this.#size, deepest: this.#deepest }
    this.#anchors.set(node.anchor, 'open')
    this.#deepest = depth
    const value = this.#plain(node, depth)
    this.#anchors.set(node.anchor, { value, size: this.#size - before.size, height: this.#deepest - depth })
    this.#deepest = Math.max(this.#deepest, before.deepest)
    return value
  }

  #alias(name: string, node: ParsedNode, depth: number): unknown {
    const target = this.#anchors.get(name)
    const shown = printableStart(name, longestName)
    if (target === undefined)
      return this.#problem(node, `the alias *${shown} has no anchor &${shown} before it; add it`)
    if (target === 'open')
      return this.#problem(node, `the alias *${shown} stands within its own anchor, so it never ends; remove it`)
    this.#size += target.size
    this.#repeated += target.size
    this.#deepest = Math.max(this.#deepest, depth + target.height)
    if (this.#repeated > mostRepeated)
      return this.#problem(node, `aliases repeat more than ${mostRepeated} characters; write out what is meant`)
    if (depth + target.height > mostLevels)
      return this.#problem(node, `with its aliases it is nested more than ${mostLevels} levels deep; flatten it`)
    return target.value
  }

  #plain(node: ParsedNode, depth: number): unknown {
    this.#size += 8
    this.#deepest = Math.max(this.#deepest, depth)
    if (isScalar(node)) {
      this.#size += node.source.length
      return node.value
    }
    if (isSeq(node)) return node.items.map((item) => this.value(item, depth + 1))
    return isMap(node) ? this.#map(node, depth) : null
  }

  #map(node: MapNode, depth: number): Record<string, unknown> {
    const map: Record<string, unknown> = {}
    const merged: unknown[] = []
    for (const pair of node.items) {
      const { key, value } = pair as { readonly key: ParsedNode; readonly value: ParsedNode | null }
      const name = this.#key(key, depth)
      const read = value === null ? null : this.value(value, depth + 1)
      if (name === undefined) continue
      if (name === '<<' && isScalar(key) && key.type === Scalar.PLAIN) merged.push(...this.#merge(value, read))
      else if (Object.hasOwn(map, name))
        this.#problem(key, `the key "${printableStart(name, longestName)}" stands there twice; remove one of them`)
      else define(map, name, read)
    }
    for (const source of merged)
      for (const [name, value] of Object.entries(source as object))
        if (!Object.hasOwn(map, name)) define(map, name, value)
    return map
  }

  #key(node: ParsedNode, depth: number): string | undefined {
    const key = this.value(node, depth + 1) as string | number | boolean | object | null | undefined
    if (typeof key === 'object' && key !== null) {
      this.#problem(node, 'a key is a list or a map; write a text')
      return undefined
    }
    return key === null ? '' : String(key)
  }

  /** Of the merged maps that have a missing key, the first one counts. */
  #merge(node: ParsedNode | null, value: unknown): readonly unknown[] {
    // A refused alias already has its problem.
    if (value === undefined) return []
    const maps: readonly unknown[] = Array.isArray(value) ? value : [value]
    if (maps.every(isObject)) return maps
    if (node !== null) this.#problem(node, '<< merges maps; give the alias of one, or a list of them')
    return []
  }

  #problem(node: ParsedNode, message: string): undefined {
    if (this.problems.length < mostProblems)
      this.problems.push({ line: this.#lines.linePos(node.range[0]).line, message })
    return undefined
  }
}

/** Defines data properties, even under the name of a setter. */
function define(map: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(map, name, { value, writable: true, enumerable: true, configurable: true })
  else map[name] = value
}
