import { isObject } from '../values/json.ts'
/** What an operator's message holds, once it is looked at. */
export type Checked<T> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'refused'; readonly message: string }

/** Texts of an operator are shown on objects and in the history. */
export const longestText = 500

/** The fields of a payload, of which only those that are known may stand there; no payload is one without fields. */
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

/** Why texts cannot be taken; undefined: they can. */
export function textRefusal(name: string, texts: Readonly<Record<string, unknown>>): string | undefined {
  for (const [field, value] of Object.entries(texts)) {
    if (value === undefined || value === null) continue
    if (typeof value !== 'string') return `${name}: ${field} ${shown(value)}: not a text`
    if (value.length > longestText) return `${name}: ${field}: ${value.length} characters, at most ${longestText}`
  }
  return undefined
}

/** The payload as an object, whatever it is. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

/** As JSON, and not endless. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined'
  return text.length > 100 ? `${text.slice(0, 97)}...` : text
}
