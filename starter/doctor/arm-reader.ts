import {
  bearerTokenAuthenticationPolicy,
  createDefaultHttpClient,
  createPipelineFromOptions,
  createPipelineRequest,
  type HttpClient,
  type Pipeline,
} from '@azure/core-rest-pipeline'
import type { TokenCredential } from '@azure/identity'

/** An answer of ARM, good or not. */
export interface ArmAnswer {
  readonly status: number
  readonly body: unknown
  /** ARM's clock, as the answer's header has it. */
  readonly date: string | undefined
}

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

/** Reads of ARM one by one, with their headers: what the SDK's clients would hide, the doctor wants to see. */
export class ArmReader {
  readonly endpoint: string
  readonly #pipeline: Pipeline
  readonly #client: HttpClient

  constructor(endpoint: string, credential: TokenCredential, scope: string) {
    this.endpoint = endpoint
    this.#client = createDefaultHttpClient()
    this.#pipeline = createPipelineFromOptions({
      retryOptions: { maxRetries: 0 },
      userAgentOptions: { userAgentPrefix: 'joiner-doctor' },
    })
    this.#pipeline.addPolicy(bearerTokenAuthenticationPolicy({ credential, scopes: scope }))
  }

  /** One answer, whatever its status. Errors: those of the connection and of the token. */
  async answer(path: string, signal: AbortSignal): Promise<ArmAnswer> {
    const url = path.startsWith('http') ? path : `${this.endpoint}${path}`
    const request = createPipelineRequest({ url, method: 'GET', abortSignal: signal })
    const response = await this.#pipeline.sendRequest(this.#client, request)
    return {
      status: response.status,
      body: parsed(response.bodyAsText ?? ''),
      date: response.headers.get('date'),
    }
  }

  /** A resource. Errors: ArmRefusal when ARM does not answer 200. */
  async get<T>(path: string, signal: AbortSignal): Promise<T> {
    const { status, body } = await this.answer(path, signal)
    if (status === 200) return body as T
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
