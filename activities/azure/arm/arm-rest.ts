import { createDefaultHttpClient, createPipelineRequest, RestError } from '@azure/core-rest-pipeline'
import type { AzureClient } from './client.ts'
import { publicArm } from './clouds.ts'

/** A request to ARM that no client library of this repository has. */
export interface ArmRequest {
  readonly method?: 'GET' | 'POST' | 'PUT'
  /** Path with its query. */
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

interface ArmScope {
  readonly azure: AzureClient
  readonly config: { readonly armEndpoint?: string }
}

const http = createDefaultHttpClient()

interface ErrorAnswer {
  readonly error?: { readonly code?: string; readonly message?: string }
}

/**
 * Sends a request through the compute client's pipeline, so that it is authorised, timed and counted as all others. Returns the body of the answer.
 * Errors: a `RestError` with Azure's code for each answer that is no success, or that is not JSON: it comes from something between.
 */
export async function sendArm<T>(
  { azure, config }: ArmScope,
  { method = 'GET', path, body, headers = {} }: ArmRequest,
): Promise<T> {
  const request = createPipelineRequest({
    url: new URL(path, config.armEndpoint ?? publicArm).href,
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  for (const [name, value] of Object.entries(headers)) request.headers.set(name, value)
  request.headers.set('accept', 'application/json')
  if (body !== undefined) request.headers.set('content-type', 'application/json')
  const response = await azure.compute.pipeline.sendRequest(azure.http ?? http, request)
  const { status: statusCode, bodyAsText } = response
  const answer = parsed(bodyAsText)
  const isSuccess = statusCode >= 200 && statusCode < 300
  if (isSuccess && answer !== undefined) return answer as T
  const { error: { code, message } = {} }: ErrorAnswer = answer ?? {}
  const error = new RestError(message ?? `${method} ${path}: ${bodyAsText ?? 'no answer'}`, {
    statusCode,
    code: code ?? response.headers.get('x-ms-error-code') ?? 'UnknownError',
    request,
    response,
  })
  error.details = answer
  throw error
}

/** Reads all pages of a list. Errors: as `sendArm`; an answer that is no list. */
export async function listArm<T>(scope: ArmScope, path: string): Promise<readonly T[]> {
  const found: T[] = []
  let next: string | undefined = path
  while (next !== undefined) {
    const page: { readonly value?: readonly T[]; readonly nextLink?: string | null } = await sendArm(scope, {
      path: next,
    })
    if (!Array.isArray(page.value)) throw new Error(`GET ${next}: the answer of ARM has no field "value"`)
    found.push(...page.value)
    // The last page has none, null or an empty one.
    next = page.nextLink || undefined
  }
  return found
}

/** An empty answer is an empty object; undefined: it is no JSON object. */
function parsed(text: string | null | undefined): object | undefined {
  try {
    const answer: unknown = JSON.parse(text || '{}')
    return typeof answer === 'object' && answer !== null ? answer : undefined
  } catch {
    return undefined
  }
}
