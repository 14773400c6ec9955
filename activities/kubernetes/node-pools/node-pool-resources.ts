import { countPatch, resourcesByPool } from '../../../core/node-pool/resources.ts'
import { hasPassed } from '../../../core/values/time.ts'
import { updateStatus } from '../client/status-writes.ts'
import type { WriteDeps } from '../parts.ts'

export interface NodePoolResourcesDeps extends WriteDeps {}

/** Upstream's interval of counting (reference/karpenter-core.md 5.2): a burst of nodes within it is one write. */
const spacingMs = 5000

/**
 * Writes the total resources of each pool's nodes into its status, where they differ. `writtenAt` holds when each pool, by UID, was last written;
 * one that was written just now stays due. Errors: the API server's; the other pools are written nonetheless.
 */
export async function writeCounts(
  deps: NodePoolResourcesDeps,
  writtenAt: Map<string, number>,
): Promise<'done' | 'due'> {
  const { cache } = deps
  const counted = resourcesByPool(cache.nodes.values(), cache.nodeClaims.values())
  const pools = [...cache.nodePools.values()]
  const outdated = pools.filter((pool) => countPatch(pool, counted.get(pool.metadata.name)) !== undefined)
  const now = deps.now()
  const isFresh = (at: number | undefined) => at !== undefined && !hasPassed(spacingMs, at, now)
  for (const [uid, at] of writtenAt) if (!isFresh(at)) writtenAt.delete(uid)
  const due = outdated.filter(({ metadata }) => !isFresh(writtenAt.get(metadata.uid)))
  const results = await Promise.allSettled(
    due.map(({ metadata }) => {
      writtenAt.set(metadata.uid, now)
      return updateStatus(deps, { kind: 'NodePool', ref: metadata }, (current) =>
        countPatch(current, counted.get(metadata.name)),
      )
    }),
  )
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return due.length === outdated.length ? 'done' : 'due'
}
