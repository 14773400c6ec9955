import { Readable } from 'node:stream'
import { createPipelineRequest, type HttpClient } from '@azure/core-rest-pipeline'
import { request } from 'undici'

interface PlainGetOptions {
  /** What carries the request, where it is not the default. */
  readonly http?: HttpClient | undefined
  readonly signal?: AbortSignal
  /** Longest wait for the headers of the answer. */
  readonly headersMs?: number
}

interface PlainAnswer {
  readonly status: number
  readonly header: (name: string) => string | undefined
  /** Not read yet. */
  readonly body: Readable
}

/** Asks for an address of Azure that is not ARM's, without a token. The wait for the body is the reader's to limit. Errors: no answer. */
export async function plainGet(url: string, { http, signal, headersMs }: PlainGetOptions): Promise<PlainAnswer> {
  if (http !== undefined) {
    const response = await http.sendRequest(
      createPipelineRequest({
        url,
        ...(signal === undefined ? {} : { abortSignal: signal }),
        streamResponseStatusCodes: new Set([Number.POSITIVE_INFINITY]),
      }),
    )
    const text = Buffer.from(response.bodyAsText ?? '')
    return {
      status: response.status,
      header: (name) => response.headers.get(name),
      body: (response.readableStreamBody as Readable | undefined) ?? Readable.from(text, { objectMode: false }),
    }
  }
  const { statusCode, headers, body } = await request(url, {
    bodyTimeout: 0,
    ...(signal === undefined ? {} : { signal }),
    ...(headersMs === undefined ? {} : { headersTimeout: headersMs }),
  })
  return { status: statusCode, header: (name) => headers[name]?.toString(), body }
}
