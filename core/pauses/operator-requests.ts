import { timeIn } from '../node-claim/hold.ts'
import { isObject } from '../values/json.ts'
import { timeText } from '../values/time.ts'

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

/** Whether a field of a request has a value; JSON of some clients has null for none. */
export function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null
}

/** Returns JSON of limited length. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined'
  return text.length > 100 ? `${text.slice(0, 97)}...` : text
}

/** How long a request holds. Temporal hands old ones to a run again when somebody resets it, and may keep others through an outage. */
const longestAgeMs = 120_000

/** What becomes of a request that does not say when it was made, or not readably: nothing public tells a repeated signal from a new one. */
export type Undated = 'accepted' | 'refused'

/**
 * Returns why a request is refused for its age; undefined when it is not. `undated`: what becomes of one without `at`. A brake is accepted, since a node
 * that is kept in vain does less harm than one that goes. `now`: epoch ms.
 */
export function ageRefusal(name: string, request: unknown, { undated, now }: Age): string | undefined {
  const { at } = objectOf(request)
  const atMs = typeof at === 'string' ? timeIn(at) : undefined
  if (atMs === undefined) {
    const asNow = `{"at": "${timeText(now)}"}`
    if (undated === 'accepted') return undefined
    return at === undefined || at === null
      ? `${name}: at: state when this is asked for, such as ${asNow}: without it nobody can tell a new request from one that a reset of the workflow repeats`
      : `${name}: at ${shown(at)}: not an RFC 3339 time; write it as ${asNow}`
  }
  const ageMs = now - atMs
  if (Math.abs(ageMs) <= longestAgeMs) return undefined
  const age = ageMs > 0 ? `${secondsOf(ageMs)} s old` : `${secondsOf(-ageMs)} s in the future`
  return `${name}: at ${shown(at)}: the request is ${age}, and holds for ${secondsOf(longestAgeMs)} s (it is ${timeText(now)}); ask again, and check the clock of the machine that asks`
}

interface Age {
  readonly undated: Undated
  /** Epoch ms. */
  readonly now: number
}

function secondsOf(ms: number): number {
  return Math.round(ms / 1000)
}
