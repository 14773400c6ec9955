import { isObject } from '../values/json.ts'

/** Content of an operator's message after validation. */
export type Checked<T> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'refused'; readonly message: string }

/** Operators' texts are shown on objects and in the history. */
export const longestText = 500

/** Returns the fields of a payload, which may be the known ones only; an empty payload has none. */
export function fieldsOf(
  request: unknown,
  name: string,
  known: readonly string[],
): Checked<Readonly<Record<string, unknown>>> {
  if (request === undefined || request === null) return { kind: 'ok', value: {} }
  if (!isObject(request))
    return { kind: 'refused', message: `${name}: ${shown(request)}: not an object; use {${known.join(', ')}}` }
  const strange = Object.keys(request).find((key) => !known.includes(key))
  return strange === undefined
    ? { kind: 'ok', value: request }
    : { kind: 'refused', message: `${name}: ${strange}: not a field; use ${known.join(', ')}` }
}

/** Returns why texts are refused; undefined when they are accepted. */
export function textRefusal(name: string, texts: Readonly<Record<string, unknown>>): string | undefined {
  for (const [field, value] of Object.entries(texts)) {
    if (value === undefined || value === null) continue
    if (typeof value !== 'string') return `${name}: ${field} ${shown(value)}: not a text`
    if (value.length > longestText) return `${name}: ${field}: ${value.length} characters, at most ${longestText}`
  }
  return undefined
}

/** Returns the payload as an object, whatever it is. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

/** Returns JSON of limited length. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined'
  return text.length > 100 ? `${text.slice(0, 97)}...` : text
}
