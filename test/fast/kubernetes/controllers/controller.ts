import { SimulatedProcess } from '../../simulated-process.ts'
import type { ApiServer } from '../api/api-server.ts'

/** A controller of a cluster: it looks at everything whenever something has changed, and does what is missing. */
export interface Controller {
  /** Resources whose changes wake it. */
  readonly watches: readonly string[]
  /** Time from a change to its look. */
  readonly afterMs: number
  /** Returns when it wants to look again although nothing changes, in epoch ms; undefined: never. */
  readonly reconcile: () => number | undefined
}

/** Runs a controller until it is stopped. Returns what stops it. */
export function run(server: ApiServer, { watches, afterMs, reconcile }: Controller): () => void {
  let next: { readonly timer: ReturnType<typeof setTimeout>; readonly atMs: number } | undefined
  const look = () => {
    next = undefined
    const againAtMs = reconcile()
    if (againAtMs !== undefined) lookAt(againAtMs)
  }
  const lookAt = (atMs: number) => {
    if (next !== undefined && next.atMs <= atMs) return
    clearTimeout(next?.timer)
    next = { atMs, timer: SimulatedProcess.outside(() => setTimeout(look, Math.max(0, atMs - Date.now()))) }
  }
  const wake = () => lookAt(Date.now() + afterMs)
  const end = server.objects.onChange(({ resource }) => {
    if (watches.includes(resource)) wake()
  })
  wake()
  return () => {
    end()
    clearTimeout(next?.timer)
  }
}
