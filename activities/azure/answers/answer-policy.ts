import { PassThrough, type Readable } from 'node:stream'
import {
  isRestError,
  type PipelinePolicy,
  type PipelineRequest,
  type PipelineResponse,
  RestError,
} from '@azure/core-rest-pipeline'
import { jsonIn } from '../../../core/values/json.ts'
import { mostPages, notJson, readWhole } from '../../limited-body.ts'

/** Longest wait for the headers of an answer. */
const headersMs = 30_000
/** Links to pages that are remembered: those of lists that are being read. */
const rememberedLinks = 1000
const advice = 'check what stands between Joiner and Azure'

/**
 * Guards what Azure answers, as the innermost policy of a pipeline: the wait for headers and body is limited, and the size of the body; a success
 * is the JSON that it promises; requests go to the endpoint's origin only, wherever a link or a redirect leads, since they carry Joiner's token; and
 * lists end. Without an endpoint any origin is asked: credentials know theirs.
 * Errors: `RestError` of a request that was not answered, whatever the status: nothing follows from it.
 */
export function answerPolicy(endpoint?: string): PipelinePolicy {
  const origin = endpoint === undefined ? undefined : new URL(endpoint).origin
  const links = new PageLinks(origin)
  return {
    name: 'joinerAnswers',
    async sendRequest(request, next) {
      if (origin !== undefined && new URL(request.url).origin !== origin)
        throw unusable(
          request,
          `leads to ${new URL(request.url).origin}, not to ${origin}, so it is not sent; ${advice}`,
        )
      const response = await readAnswer(request, next)
      const problem = problemOf(response) ?? links.problemOf(response)
      if (problem !== undefined) throw unusable(request, problem, response)
      return response
    },
  }
}

/** Sends a request, and reads its answer within the limits. */
async function readAnswer(
  request: PipelineRequest,
  next: (request: PipelineRequest) => Promise<PipelineResponse>,
): Promise<PipelineResponse> {
  const { abortSignal, streamResponseStatusCodes } = request
  const own = new AbortController()
  const signal = AbortSignal.any([own.signal, ...(abortSignal === undefined ? [] : [abortSignal as AbortSignal])])
  request.abortSignal = signal
  // The SDK's client limits the wait for headers alone, so it passes on the body of each answer, which is read here.
  request.streamResponseStatusCodes = new Set([Number.POSITIVE_INFINITY])
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    own.abort()
  }, headersMs)
  let body: Readable | undefined
  try {
    const response = await next(request)
    clearTimeout(timer)
    body = response.readableStreamBody as Readable | undefined
    if (body === undefined) return response
    response.bodyAsText = await readWhole(apart(body, signal), nameOf(request))
    delete response.readableStreamBody
    return response
  } catch (error) {
    // It closes the connection, on which the rest of the body would still come.
    own.abort()
    body?.destroy()
    if (isLate) throw unusable(request, `no answer in ${headersMs / 1000} s`)
    if (isRestError(error) || (error as Error).name === 'AbortError') throw error
    throw unusable(request, error instanceof Error ? error.message : String(error))
  } finally {
    clearTimeout(timer)
    if (streamResponseStatusCodes === undefined) delete request.streamResponseStatusCodes
    else request.streamResponseStatusCodes = streamResponseStatusCodes
    if (abortSignal === undefined) delete request.abortSignal
    else request.abortSignal = abortSignal
  }
}

/**
 * Returns the stream for reading, which can be destroyed alone: the SDK no longer listens to the signal that closes the connection once its own
 * stream, which may be one that unpacks, has ended.
 */
function apart(body: Readable, signal: AbortSignal): Readable {
  const read = body.pipe(new PassThrough())
  body.on('error', (error) => read.destroy(error))
  const stop = () => read.destroy(new DOMException('the request was aborted', 'AbortError'))
  signal.addEventListener('abort', stop, { once: true })
  read.on('close', () => signal.removeEventListener('abort', stop))
  return read
}

/** Returns what is wrong with a success that is not the JSON that it promises. */
function problemOf({ request: { method }, status, headers, bodyAsText }: PipelineResponse): string | undefined {
  if (status < 200 || status > 299) return undefined
  const text = bodyAsText ?? ''
  // What is done, and what is only accepted, needs no words.
  const mayBeEmpty = status === 202 || status === 204 || method === 'HEAD' || method === 'DELETE' || method === 'POST'
  if (text === '' && mayBeEmpty) return undefined
  const [start, end] = [text.slice(0, 100).trimStart().at(0) ?? '', text.slice(-100).trimEnd().at(-1) ?? '']
  if (['{}', '[]'].includes(start + end)) return undefined
  return notJson(`status ${status}`, { text, contentType: headers.get('content-type') })
}

/** The links of lists from page to page: how many pages came before each. */
class PageLinks {
  readonly #origin: string | undefined
  readonly #pagesBefore = new Map<string, number>()

  constructor(origin: string | undefined) {
    this.#origin = origin
  }

  /** Returns why a list cannot be followed to its end from this page. */
  problemOf({ request, status, bodyAsText }: PipelineResponse): string | undefined {
    if (status !== 200 || this.#origin === undefined || bodyAsText?.includes('"nextLink"') !== true) return undefined
    const { nextLink } = (jsonIn(bodyAsText) ?? {}) as { readonly nextLink?: unknown }
    if (typeof nextLink !== 'string' || nextLink === '') return undefined
    const link = URL.parse(nextLink, request.url)
    if (link?.origin !== this.#origin)
      return `its next page is at ${link?.origin ?? 'no address'}, not at ${this.#origin}, so it is not asked for; ${advice}`
    const [own, next] = [pageKey(request.url), pageKey(link.href)]
    const pages = (this.#pagesBefore.get(own) ?? 0) + 1
    if (own === next || pages >= mostPages)
      return `the list does not end: ${own === next ? 'a page continues with itself' : `it has more than ${mostPages} pages`}; ${advice}`
    this.#pagesBefore.delete(next)
    this.#pagesBefore.set(next, pages)
    if (this.#pagesBefore.size > rememberedLinks) this.#pagesBefore.delete(this.#pagesBefore.keys().next().value ?? '')
    return undefined
  }
}

/** Returns the URL of a page without the version, which a policy may have set otherwise. */
function pageKey(url: string): string {
  const key = new URL(url)
  key.searchParams.delete('api-version')
  return key.href
}

const nameOf = ({ method, url }: PipelineRequest) => `${method} ${new URL(url).pathname}`

/** As a request that was not answered, so that it is sent again, and no size or image is blamed for it. */
function unusable(request: PipelineRequest, problem: string, response?: PipelineResponse): RestError {
  const message = problem.startsWith(nameOf(request)) ? problem : `${nameOf(request)}: ${problem}`
  return new RestError(message, {
    code: RestError.REQUEST_SEND_ERROR,
    request,
    ...(response === undefined ? {} : { statusCode: response.status, response }),
  })
}
