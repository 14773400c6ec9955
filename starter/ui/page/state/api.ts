import { useEffect, useState } from 'preact/hooks'
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

/** What the server said last at a path. What was shown stays while it is asked again, and while it does not answer. */
export interface Resource<T> {
  readonly value: T | undefined
  readonly problem: string | undefined
  readonly reload: () => void
}

/** Changes often come in bursts. */
const calmMs = 400

/** Reads JSON from a path, again where one of `causes` changes; their number stays the same. */
export function useResource<T>(path: string, causes: readonly unknown[]): Resource<T> {
  const [known, setKnown] = useState<{ path: string; value: T | undefined; problem: string | undefined }>()
  const [asked, setAsked] = useState(0)
  const own = known?.path === path ? known : undefined
  useEffect(() => {
    const abort = new AbortController()
    const read = () =>
      getJson<T>(path, abort.signal).then(
        (value) => setKnown({ path, value, problem: undefined }),
        (error: unknown) => {
          if (!abort.signal.aborted)
            setKnown((old) => ({ path, value: old?.path === path ? old.value : undefined, problem: messageOf(error) }))
        },
      )
    const timer = setTimeout(() => void read(), own?.value === undefined ? 0 : calmMs)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [path, asked, ...causes])
  return { value: own?.value, problem: own?.problem, reload: () => setAsked((count) => count + 1) }
}

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
