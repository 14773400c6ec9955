import type { Problem } from '../../contract.ts'

/** Reads JSON of the page's own server. Errors: what the server says, or that it does not answer. */
export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return request<T>(path, signal === undefined ? {} : { signal })
}

/** Asks the server to do something. */
export async function postJson<T>(path: string, body: unknown = {}): Promise<T> {
  return request<T>(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-joiner-action': '1' },
    body: JSON.stringify(body),
  })
}

/** An answer that says what is wrong; `status` is of HTTP. */
export class Refused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

async function request<T>(path: string, init: RequestInit): Promise<T> {
  let response: Response
  try {
    response = await fetch(path, init)
  } catch (error) {
    if (init.signal?.aborted === true) throw error
    throw new Error(
      'joiner ui does not answer. Is it still running? Start it again, and open the link that it prints.',
      { cause: error },
    )
  }
  if (response.ok) return (await response.json()) as T
  const problem = (await response.json().catch(() => undefined)) as Problem | undefined
  throw new Refused(response.status, problem?.message ?? `${path}: HTTP status ${response.status}`)
}
