// Answers of the API server as they travel: objects, lists, events and errors.
import type { Dispatcher } from 'undici'
import { ApiError } from './api-error.ts'

/** A Kubernetes object as it travels. */
export type Json = Record<string, unknown>

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

export function listResult(page: {
  readonly items?: Json[]
  readonly sizes?: readonly number[]
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string }
}): ListResult {
  const next = page.metadata?.continue
  return {
    items: page.items ?? [],
    resourceVersion: page.metadata?.resourceVersion ?? '',
    ...(page.sizes ? { sizes: page.sizes } : {}),
    ...(next ? { continue: next } : {}),
  }
}

/** Returns the text of a body. Undefined when it has more bytes than `most`; then the rest was not read. */
export async function readAtMost(body: Dispatcher.ResponseData['body'], most: number): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > most) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

export async function apiError(method: string, path: string, response: Dispatcher.ResponseData): Promise<ApiError> {
  const text = await response.body.text()
  const status = parseStatus(text)
  const retryAfter = Number(response.headers['retry-after'])
  const error = new ApiError(
    response.statusCode,
    status.reason ?? 'Unknown',
    `${method} ${path}: ${response.statusCode} ${status.message ?? text.slice(0, 300)}`,
  )
  if (Number.isFinite(retryAfter)) error.retryAfterSeconds = retryAfter
  return error
}

function parseStatus(text: string): { reason?: string; message?: string } {
  try {
    return JSON.parse(text) as { reason?: string; message?: string }
  } catch {
    return {}
  }
}

export async function parsed(text: string, parseLarge: ParseLarge | undefined): Promise<Json> {
  return parseLarge === undefined ? (JSON.parse(text) as Json) : parseLarge(text)
}

/** Characters above which events and short pages are passed to `ParseLarge`. */
export const largeText = 256 * 2 ** 10

/** Returns the event in a line of a watch. Errors: `ApiError` for an event that is one. */
export async function eventIn(line: string, parseLarge: ParseLarge | undefined): Promise<WatchEvent> {
  const json = await parsed(line, line.length >= largeText ? parseLarge : undefined)
  const event = json as unknown as Omit<WatchEvent, 'size'>
  if (event.type !== 'ERROR') return { ...event, size: line.length }
  const status = event.object as { code?: number; reason?: string; message?: string }
  throw new ApiError(
    status.code ?? 500,
    status.reason ?? 'Unknown',
    `watch: ${status.message ?? 'the server reported an error'}`,
  )
}

/** Puts the lines of a stream together. Pieces of a line are joined once, however many there are. */
export class Lines {
  readonly #decoder = new TextDecoder()
  #pieces: string[] = []

  /** Returns the lines that end in this chunk, without empty ones. */
  endedBy(chunk: Uint8Array): readonly string[] {
    const [first = '', ...others] = this.#decoder.decode(chunk, { stream: true }).split('\n')
    this.#pieces.push(first)
    const ended: string[] = []
    for (const next of others) {
      const line = this.#pieces.join('')
      this.#pieces = [next]
      if (line !== '') ended.push(line)
    }
    return ended
  }
}
