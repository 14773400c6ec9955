// Answers of the API server as they travel: objects, lists, events and errors.

import type { Dispatcher } from 'undici'
import { jsonIn } from '../../../core/values/json.ts'
import { printableStart } from '../../../core/values/printable.ts'
import { notJson, piecesOf, readAtMost } from '../../limited-body.ts'
import { ApiError, expecting, isNotFound } from './api-error.ts'

/** A Kubernetes object as it travels. */
export type Json = Record<string, unknown>

/** Returns the object at a path; undefined when there is none. Errors: what else the API server answers. */
export async function getIfAny(
  client: { readonly get: (path: string) => Promise<Json> },
  path: string,
): Promise<Json | undefined> {
  return client.get(path).catch(expecting(isNotFound, undefined))
}

export interface ListResult {
  readonly items: readonly Json[]
  /** Characters of each item as it travelled, where they were counted. */
  readonly sizes?: readonly number[]
  readonly resourceVersion: string
  readonly continue?: string
}

/** Parses the text of a large event, or of a page of a list with large items. */
export type ParseLarge = (text: string) => Promise<Json>

export interface ReadOptions {
  readonly signal?: AbortSignal | undefined
  /** Unset: large texts are parsed like any other, which takes tens of milliseconds and as many MiB each. */
  readonly parseLarge?: ParseLarge | undefined
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: Json
  /** Characters of the event as it travelled. */
  readonly size: number
}

/** Returns the list in an answer. Errors: it is no list; taken for an empty one it would empty a cache. */
export function listResult(
  path: string,
  page: {
    readonly items?: Json[]
    readonly sizes?: readonly number[]
    readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string }
  },
): ListResult {
  const { items, sizes, metadata: { resourceVersion = '', continue: next } = {} } = page
  if (!Array.isArray(items) || resourceVersion === '')
    throw new Error(
      `GET ${path}: the answer is no list: ${Array.isArray(items) ? 'metadata.resourceVersion' : 'items'} is missing; check what stands between Joiner and the API server`,
    )
  return { items, resourceVersion, ...(sizes ? { sizes } : {}), ...(next ? { continue: next } : {}) }
}

export async function apiError(method: string, path: string, response: Dispatcher.ResponseData): Promise<ApiError> {
  const what = `${method} ${path}`
  const text = (await readAtMost(piecesOf(response.body, what), mostErrorBytes)) ?? ''
  const status = (jsonIn(text) ?? {}) as { readonly reason?: string; readonly message?: string }
  const retryAfter = Number(response.headers['retry-after'])
  const error = new ApiError(
    response.statusCode,
    status.reason ?? 'Unknown',
    `${what}: ${response.statusCode} ${status.message ?? printableStart(text, 300)}`,
  )
  if (Number.isFinite(retryAfter)) error.retryAfterSeconds = retryAfter
  return error
}

/** Most bytes of an error that are read. */
const mostErrorBytes = 2 ** 20

/** Returns the object in an answer. Errors: it is no JSON object. */
export function parsed(what: string, text: string, headers: Dispatcher.ResponseData['headers']): Json {
  const json = jsonIn(text)
  if (json === undefined) throw new Error(notJson(what, { text, contentType: headers['content-type']?.toString() }))
  return json as Json
}

/** Characters above which events and short pages are passed to `ParseLarge`. */
export const largeText = 256 * 2 ** 10

const eventTypes: ReadonlySet<unknown> = new Set<WatchEvent['type']>(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'])

/** Returns the event in a line of a watch. Errors: `ApiError` for an event that is one; the line is no event. */
export async function eventIn(line: string, parseLarge: ParseLarge | undefined): Promise<WatchEvent> {
  const json = line.length >= largeText && parseLarge !== undefined ? await parseLarge(line) : jsonIn(line)
  const event = (json ?? {}) as Partial<Omit<WatchEvent, 'size'>>
  const { type, object } = event
  const metadata = object?.['metadata'] as { readonly resourceVersion?: unknown } | undefined
  if (type !== undefined && object && eventTypes.has(type) && typeof metadata?.resourceVersion === 'string')
    return { type, object, size: line.length }
  if (type !== 'ERROR' || !object)
    throw new Error(`watch: this is no event: "${printableStart(line, 200)}"; check what stands before the API server`)
  const status = object as { code?: number; reason?: string; message?: string }
  throw new ApiError(
    status.code ?? 500,
    status.reason ?? 'Unknown',
    `watch: ${status.message ?? 'the server reported an error'}`,
  )
}

/** Most characters of a line: no object of Kubernetes is as large. */
const longestLine = 32 * 2 ** 20

/** Puts the lines of a stream together. Pieces of a line are joined once, however many there are. */
export class Lines {
  readonly #decoder = new TextDecoder()
  #pieces: string[] = []
  #length = 0

  /** Returns the lines that end in this chunk, without empty ones. Errors: a line is longer than any event. */
  endedBy(chunk: Uint8Array): readonly string[] {
    const [first = '', ...others] = this.#decoder.decode(chunk, { stream: true }).split('\n')
    this.#pieces.push(first)
    this.#length += first.length
    if (this.#length > longestLine)
      throw new Error(
        `watch: a line has more than ${longestLine / 2 ** 20} Mi characters; check what stands before the API server`,
      )
    this.#length = others.length === 0 ? this.#length : (others.at(-1) ?? '').length
    const ended: string[] = []
    for (const next of others) {
      const line = this.#pieces.join('')
      this.#pieces = [next]
      if (line !== '') ended.push(line)
    }
    return ended
  }
}
