import {
  bearerTokenAuthenticationPolicy,
  createDefaultHttpClient,
  createPipelineFromOptions,
  createPipelineRequest,
  type HttpClient,
  type Pipeline,
} from '@azure/core-rest-pipeline'
import type { TokenCredential } from '@azure/identity'
import { answerPolicy } from '../../activities/azure/answers/answer-policy.ts'

/** ARM's refusal, by its code. */
export class ArmRefusal extends Error {
  override readonly name = 'ArmRefusal'
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

interface ArmCall {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly signal: AbortSignal
  readonly body?: unknown
}

/** Reads of ARM one by one, with their headers: what the SDK's clients would hide, the doctor wants to see. */
export class ArmReader {
  readonly endpoint: string
  readonly #pipeline: Pipeline
  readonly #anonymous: Pipeline
  readonly #client: HttpClient

  constructor(endpoint: string, credential: TokenCredential, scope: string) {
    this.endpoint = endpoint
    this.#client = createDefaultHttpClient()
    const options = { retryOptions: { maxRetries: 0 }, userAgentOptions: { userAgentPrefix: 'joiner' } }
    this.#anonymous = createPipelineFromOptions(options)
    this.#pipeline = createPipelineFromOptions(options)
    this.#pipeline.addPolicy(bearerTokenAuthenticationPolicy({ credential, scopes: scope }))
    for (const pipeline of [this.#anonymous, this.#pipeline])
      pipeline.addPolicy(answerPolicy(endpoint), { afterPhase: 'Sign' })
  }

  /** ARM's clock, as the header of an answer has it: a refusal for want of a token has it as well. Undefined: ARM does not say. */
  async date(signal: AbortSignal): Promise<string | undefined> {
    const url = `${this.endpoint}/subscriptions?api-version=2022-12-01`
    const request = createPipelineRequest({ url, method: 'GET', abortSignal: signal })
    return (await this.#anonymous.sendRequest(this.#client, request)).headers.get('date')
  }

  /** A resource. Errors: ArmRefusal when ARM does not answer 200. */
  async get<T>(path: string, signal: AbortSignal): Promise<T> {
    return this.request<T>({ method: 'GET', path, signal })
  }

  /** Sends a request, with its body as JSON. Errors: ArmRefusal when ARM answers neither 200 nor 201. */
  protected async request<T>({ method, path, signal, body: sent }: ArmCall): Promise<T> {
    const url = path.startsWith('http') ? path : `${this.endpoint}${path}`
    const request = createPipelineRequest({ url, method, abortSignal: signal })
    if (sent !== undefined) {
      request.headers.set('content-type', 'application/json')
      request.body = JSON.stringify(sent)
    }
    const { status, bodyAsText } = await this.#pipeline.sendRequest(this.#client, request)
    const body = parsed(bodyAsText ?? '')
    if (status === 200 || status === 201) return body as T
    const { error } = (body ?? {}) as { error?: { code?: string; message?: string } }
    throw new ArmRefusal(status, error?.code ?? `HTTP ${status}`, `${error?.code ?? status}: ${error?.message ?? ''}`)
  }

  /** All entries of a list. Errors: ArmRefusal. */
  async list<T>(path: string, signal: AbortSignal): Promise<readonly T[]> {
    const entries: T[] = []
    for (let next: string | undefined = path; next !== undefined; ) {
      const page: { readonly value?: readonly T[]; readonly nextLink?: string } = await this.get(next, signal)
      entries.push(...(page.value ?? []))
      next = page.nextLink || undefined
    }
    return entries
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** API versions of what these commands read and write at Azure. */
export const versions = {
  subscriptions: '2022-12-01',
  clusters: '2025-07-01',
  identities: '2023-01-31',
  networks: '2024-05-01',
  roles: '2022-04-01',
} as const

/** A resource that is written to ARM: its path with the API version, and its body. */
export interface ArmWrite {
  readonly path: string
  readonly body: unknown
}

/** Reads and writes of ARM by a person. */
export class ArmSession extends ArmReader {
  /** Creates or replaces a resource. Errors: ArmRefusal. */
  put<T>({ path, body }: ArmWrite, signal: AbortSignal): Promise<T> {
    return this.request<T>({ method: 'PUT', path, body, signal })
  }

  /** Asks for something that ARM answers by POST. Errors: ArmRefusal. */
  post<T>(path: string, signal: AbortSignal): Promise<T> {
    return this.request<T>({ method: 'POST', path, signal })
  }
}
