import { z } from 'zod'
import { isObject, mostLevels } from '../../core/values/json.ts'
import { printable, printableStart } from '../../core/values/printable.ts'
import { shortened } from '../../core/values/texts.ts'
import { valueAt, valueText } from '../shapes/shape.ts'

// Documents that Joiner keeps in ConfigMaps. Each is read whole or not at all: whoever may write ConfigMaps of its namespace, and a version that wrote
// another form, can put anything there.

/** Entries of a ConfigMap as they stand in it. */
export type Entries = Readonly<Record<string, string>>

/** A document that is not as Joiner writes it, and so is not used. */
export interface KeptFault {
  /** Key of the ConfigMap. */
  readonly key: string
  /** Field, value and what would be right. */
  readonly why: string
}

/** Takes what is wrong in a ConfigMap after each reading of it; an empty list when all could be read. */
export type NoteFaults = (configMap: string, faults: readonly KeptFault[]) => void

export type ReadDocument<T> =
  | { readonly kind: 'read'; readonly value: T }
  | { readonly kind: 'damaged'; readonly why: string }

const longestWhy = 300
/** Zod goes on after a fault by default, and each takes memory. Its types do not have this word of its own `validate`. */
const firstOnly: object = { abortEarly: true }

export function damaged(why: string): { readonly kind: 'damaged'; readonly why: string } {
  return { kind: 'damaged', why: shortened(why, longestWhy) }
}

/** Reads JSON by its schema. */
export function readJson<T>(schema: z.ZodType<T>, text: string): ReadDocument<T> {
  if (isNested(text, mostLevels)) return damaged(`it is nested more than ${mostLevels} levels deep`)
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    return damaged(`it is no JSON: ${printableStart(error instanceof Error ? error.message : String(error), 100)}`)
  }
  return readValue(schema, json)
}

/** Reads data by its schema; the first thing that is wrong is named. */
export function readValue<T>(schema: z.ZodType<T>, value: unknown): ReadDocument<T> {
  const read = schema.safeParse(value, firstOnly)
  if (read.success) return { kind: 'read', value: read.data }
  const { path = [], message = 'cannot be read' } = read.error.issues[0] ?? {}
  const keys = path as readonly (string | number)[]
  const field = keys.map((key) => (typeof key === 'number' ? `[${key}]` : `.${printable(key)}`)).join('')
  return damaged(`${field.replace(/^\./, '') || 'it'} ${shown(valueAt(value, keys))}: ${printable(message)}`)
}

/** Says what a value is; a list or map may be as large as a document. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return `is a list of ${value.length}`
  return isObject(value) ? 'is a map' : valueText(value)
}

/** Reads each entry of a ConfigMap. `read`: undefined for a key that is no document. */
export function readEntries<T>(
  entries: Entries,
  read: (key: string, text: string) => ReadDocument<T> | undefined,
): { readonly documents: ReadonlyMap<string, T>; readonly faults: readonly KeptFault[] } {
  const documents = new Map<string, T>()
  const faults: KeptFault[] = []
  for (const [key, text] of Object.entries(entries)) {
    const one = read(key, text)
    if (one?.kind === 'read') documents.set(key, one.value)
    if (one?.kind === 'damaged') faults.push({ key, why: one.why })
  }
  return { documents, faults }
}

/** Whether a text of JSON has more levels of lists and maps. Parsing them takes many times the memory of the text. */
function isNested(text: string, levels: number): boolean {
  let depth = 0
  let isText = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (isText && char === '\\') at += 1
    else if (char === '"') isText = !isText
    else if (isText) continue
    else if (char === '[' || char === '{') depth += 1
    else if (char === ']' || char === '}') depth -= 1
    if (depth > levels) return true
  }
  return false
}

/** What ends a fault where nothing better is known: the next process that has good data of its own writes it again anyway. */
const rewritten = (name: string, namespace: string) =>
  `it is written again by Joiner; to have that at once: kubectl delete configmap ${name} --namespace ${namespace}`

/** Returns a fault on one line, with the ConfigMap and what to do. */
export function faultText(name: string, namespace: string, { key, why }: KeptFault): string {
  return `ConfigMap ${namespace}/${name}: ${printable(shortened(key, 100))} cannot be used: ${why}; ${remedyOf(name, namespace, key)}`
}

/** Returns what to do about a fault. Pauses and costs are an operator's, and are nowhere else. */
function remedyOf(name: string, namespace: string, key: string): string {
  if (name === 'joiner-pauses') return 'it counts as a pause without an end: joiner resume --all lifts it'
  if (!name.startsWith('joiner-cost-')) return rewritten(name, namespace)
  return `these hours are lost: kubectl edit configmap ${name} --namespace ${namespace}, and remove ${printable(shortened(key, 100))}`
}

/** A text of at most so many characters. */
export const words = (most: number) => z.string().max(most)
/** A name in Kubernetes or Azure, or an id there. */
export const name = words(300)
export const names = z.array(name).max(10_000)
/** A finite number within bounds, both included. */
export const amount = (least: number, most: number) => z.number().min(least).max(most)
export const count = z.int().min(0).max(1_000_000_000)
/** More than anything costs. */
export const mostUsd = 1e9
/** USD, and USD an hour. */
export const usd = amount(0, mostUsd)
/** Epoch ms that a Date takes. */
export const epochMs = amount(0, 8.64e15)
/** RFC 3339 as text, epoch ms as value. */
export const instant = z.codec(z.iso.datetime(), z.number(), {
  decode: (text) => Date.parse(text),
  encode: (ms) => new Date(ms).toISOString(),
})

/** A map with at most so many entries. */
export function mapOf<T>(each: z.ZodType<T>, most: number) {
  const isSmall = (value: unknown) => !isObject(value) || Object.keys(value).length <= most
  return z
    .unknown()
    .refine(isSmall, { error: `a map of at most ${most} entries is right`, abort: true })
    .pipe(z.record(words(300), each))
}
