import { convert } from '../../api/conversion/convert.ts'
import { type Json } from '../../api/conversion/residue.ts'
import { isObject } from '../../core/values/json.ts'

const reviewVersion = 'apiextensions.k8s.io/v1'

/** An answer to the API server. */
export interface ReviewAnswer {
  readonly status: 200 | 400 | 413
  readonly body: string
  /** Why the objects are not converted. */
  readonly failure?: string
}

/**
 * Answers a ConversionReview: all of its objects in the wanted version, in order, or a failure that names the first object that cannot be
 * converted. What is no review is 400, one of more than `mostValues` values 413.
 */
export function answerReview(body: Uint8Array, mostValues: number): ReviewAnswer {
  if (hasMoreValues(body, mostValues))
    return { status: 413, body: `the review has more than ${mostValues} values; convert fewer objects at a time\n` }
  const review = parsedOf(body)
  if (!isObject(review) || !isObject(review['request']) || review['apiVersion'] !== reviewVersion)
    return { status: 400, body: `expected a ConversionReview of ${reviewVersion} with a request\n` }
  const { uid, desiredAPIVersion, objects } = review['request']
  const failed = (failure: string): ReviewAnswer => ({
    status: 200,
    failure,
    body: written(uid, { status: 'Failure', message: failure }, []),
  })
  if (typeof desiredAPIVersion !== 'string') return failed('request.desiredAPIVersion is missing')
  if (!Array.isArray(objects)) return failed('request.objects is not a list')
  const texts: string[] = []
  for (const object of objects as readonly unknown[]) {
    const converted = convertedText(object, desiredAPIVersion)
    if (converted.kind === 'failed') return failed(converted.message)
    texts.push(converted.text)
  }
  return { status: 200, body: written(uid, { status: 'Success' }, texts) }
}

/** Undefined: it is no JSON. */
function parsedOf(body: Uint8Array): unknown {
  try {
    // Whatever a key is called, it is data: nothing looks a parsed object's properties up in its prototype.
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

type Converted =
  | { readonly kind: 'converted'; readonly text: string }
  | { readonly kind: 'failed'; readonly message: string }

function convertedText(object: unknown, wanted: string): Converted {
  try {
    const result = convert(object, wanted)
    if (result.kind === 'converted') return { kind: 'converted', text: JSON.stringify(result.object) }
    return {
      kind: 'failed',
      message: `${nameOf(object)} cannot become ${wanted}: field ${result.path} ${result.message}`,
    }
  } catch (error) {
    // The stack is bounded, and each level of nesting takes some of it.
    if (!(error instanceof RangeError)) throw error
    return { kind: 'failed', message: `${nameOf(object)} cannot become ${wanted}: its fields are nested too deeply` }
  }
}

/** The review with its answer. Objects come as text, since each was written alone. */
function written(uid: unknown, result: Json, objects: readonly string[]): string {
  const review = JSON.stringify({ apiVersion: reviewVersion, kind: 'ConversionReview' }).slice(0, -1)
  const convertedObjects = result['status'] === 'Success' ? `,"convertedObjects":[${objects.join(',')}]` : ''
  // The API server sends a text as UID; whatever else it is may be too deep to be written.
  const known = typeof uid === 'string' ? uid : ''
  return `${review},"response":{"uid":${JSON.stringify(known)},"result":${JSON.stringify(result)}${convertedObjects}}}`
}

function nameOf(object: unknown): string {
  if (!isObject(object)) return 'an object'
  const { kind, metadata } = object
  const name = isObject(metadata) ? metadata['name'] : undefined
  return `${typeof kind === 'string' ? kind : 'an object'} "${typeof name === 'string' ? name : ''}"`
}

const [quote, backslash, comma, colon, openBrace, openBracket] = Buffer.from('"\\,:{[')

/**
 * Whether a JSON text has more values than so many, found without building any of them: each object, list, element and member counts. What is no
 * JSON gets an answer as well.
 */
export function hasMoreValues(json: Uint8Array, most: number): boolean {
  let values = 1
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === quote) at = endOfText(json, at + 1)
    else if (byte === comma || byte === colon || byte === openBrace || byte === openBracket) {
      values++
      if (values > most) return true
    }
  }
  return values > most
}

/** The position of the quote that ends a text. */
function endOfText(json: Uint8Array, begin: number): number {
  let at = begin
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1
  return at
}
