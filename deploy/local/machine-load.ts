import { availableParallelism, loadavg } from 'node:os'

/** How long to wait for what takes at most `ms` on a quiet machine: processes that share cores take turns, so it grows with the load. */
export function underLoad(ms: number): number {
  // Processes that ran or waited for a core in the last minute, on average.
  const [load = 0] = loadavg()
  return Math.max(ms, (ms * load) / availableParallelism())
}
