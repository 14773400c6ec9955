// What the API server answers: objects, lists, events and errors, as they travel.
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

/** The text of a body; undefined: it has more bytes than that, and the rest was not read. */
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

/** Errors: `ApiError` for an event that is one. */
export function eventOf(event: Omit<WatchEvent, 'size'>, size: number): WatchEvent {
  if (event.type !== 'ERROR') return { ...event, size }
  const status = event.object as { code?: number; reason?: string; message?: string }
  throw new ApiError(
    status.code ?? 500,
    status.reason ?? 'Unknown',
    `watch: ${status.message ?? 'the server reported an error'}`,
  )
}
