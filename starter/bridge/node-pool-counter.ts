import type { Logger } from 'pino'
import type { NodePoolResourcesDeps } from '../../activities/kubernetes/node-pools/node-pool-resources.ts'
import { writeCounts } from '../../activities/kubernetes/node-pools/node-pool-resources.ts'

export interface NodePoolCounterDeps extends NodePoolResourcesDeps {
  readonly log: Logger
}

const lookEveryMs = 1000

/**
 * Keeps `status.resources` and `status.nodes` of the NodePools current while this process leads. Counting takes no workflow: what a pool has
 * follows from the watch cache at any time, so there is nothing to make durable. Returns what ends it.
 */
export function startNodePoolCounter(deps: NodePoolCounterDeps, isLeader: () => boolean): () => void {
  const writtenAt = new Map<string, number>()
  let changed = true
  let counting = false
  const count = async () => {
    // A cache that is not complete would count too little. Whoever does not lead stays due for the moment when it does.
    if (!changed || counting || !isLeader() || deps.cache.unsynced.length > 0) return
    counting = true
    changed = false
    try {
      if ((await writeCounts(deps, writtenAt)) === 'due') changed = true
    } catch (error) {
      changed = true
      deps.log.warn({ err: error }, 'failed to write nodepool resources, retrying')
    } finally {
      counting = false
    }
  }
  const unsubscribe = deps.cache.onChange(({ kind }) => {
    changed ||= kind === 'Node' || kind === 'NodeClaim' || kind === 'NodePool'
  })
  const timer = setInterval(() => void count(), lookEveryMs)
  return () => {
    clearInterval(timer)
    unsubscribe()
  }
}
