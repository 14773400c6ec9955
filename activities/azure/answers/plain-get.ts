import { Readable } from 'node:stream'
import { createPipelineRequest, type HttpClient } from '@azure/core-rest-pipeline'
import { request } from 'undici'

interface PlainGetOptions {
  /** What carries the request, where it is not the default. */
  readonly http?: HttpClient | undefined
  readonly signal?: AbortSignal
}

interface PlainAnswer {
  readonly status: number
  readonly header: (name: string) => string | undefined
  /** Not read yet. */
  readonly body: Readable
}

/** Longest wait for the headers of an answer. */
const headersMs = 30_000

/**
 * Asks for an address of Azure that is not ARM's, without a token. The wait for the body is the reader's to limit. Errors: no answer, or none in time.
 */
export async function plainGet(url: string, { http, signal }: PlainGetOptions): Promise<PlainAnswer> {
  const late = new AbortController()
  // The library's own limit begins again with each answer that is only provisional (1xx).
  const timer = setTimeout(
    () => late.abort(new Error(`GET ${new URL(url).host}: no answer in ${headersMs / 1000} s`)),
    headersMs,
  )
  try {
    return await send(url, http, AbortSignal.any([late.signal, ...(signal === undefined ? [] : [signal])]))
  } finally {
    clearTimeout(timer)
  }
}

async function send(url: string, http: HttpClient | undefined, signal: AbortSignal): Promise<PlainAnswer> {
  if (http !== undefined) {
    const streamResponseStatusCodes = new Set([Number.POSITIVE_INFINITY])
    const response = await http.sendRequest(
      createPipelineRequest({ url, abortSignal: signal, streamResponseStatusCodes }),
    )
    const text = Buffer.from(response.bodyAsText ?? '')
    return {
      status: response.status,
      header: (name) => response.headers.get(name),
      body: (response.readableStreamBody as Readable | undefined) ?? Readable.from(text, { objectMode: false }),
    }
  }
  const { statusCode, headers, body } = await request(url, { headersTimeout: 0, bodyTimeout: 0, signal })
  return { status: statusCode, header: (name) => headers[name]?.toString(), body }
}
