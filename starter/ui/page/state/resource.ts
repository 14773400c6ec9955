import { useEffect, useState } from 'preact/hooks'
import { getJson } from './api.ts'

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
