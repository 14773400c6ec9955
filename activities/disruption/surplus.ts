import { holdOf } from '../../core/node-claim/hold.ts'
import type { NodeClaim, NodePool } from '../../core/objects.ts'
import type { Pauses } from '../../core/pauses/pauses.ts'
import { annotations } from '../../core/requirements/labels.ts'
import { countPool, surplusClaims } from '../../core/static-capacity/pool-count.ts'
import { claimsOfCommands, markedClaims } from '../../core/static-capacity/static-claim.ts'
import { forEachOf } from '../concurrency.ts'
import { updateClaim } from '../kubernetes/client/object-writes.ts'
import { countDisruption, type DisruptionCountDeps, deleteClaim } from '../kubernetes/lifecycle/claim-deletion.ts'
import { claimNode } from '../kubernetes/lifecycle/claim-nodes.ts'
import type { Parts, WriteDeps } from '../kubernetes/parts.ts'
import { readPool } from '../provisioning/pool-limits.ts'
import {
  type StaticPool,
  type StaticPoolsDeps,
  staticPool,
  staticPools,
} from '../provisioning/static-capacity/shortages.ts'
import type { Releasing } from './abandoned.ts'

export type SurplusDeps = StaticPoolsDeps & WriteDeps & DisruptionCountDeps & Pick<Parts, 'log' | 'now'>

/** The right to delete, beside which nothing is committed. */
interface Deleting extends Releasing {
  readonly pauses: Pauses
}

/** Upstream's word for it, in metrics. */
const reason = 'overprovisioned'
const concurrency = 16

/**
 * Deletes NodeClaims that static NodePools have too many. It never runs beside a commit, which makes replacements for nodes that still
 * count. Budgets do not matter, as with Karpenter; the drain waits for pods. Holds and pauses that cover a node do matter. Before a deletion the
 * NodePool is read, and NodeClaims are listed: by an older state a pool that was scaled up again would lose nodes.
 */
export async function removeSurplus(deps: SurplusDeps, deleting: Deleting): Promise<void> {
  const { fence, signal } = deleting
  if (!staticPools(deps).some((one) => surplusOf(deps, one, deleting).length > 0)) return
  await deps.cache.catchUp(['NodeClaim'], signal)
  for (const { pool: before } of staticPools(deps)) {
    const pool = await readPool(deps, before.metadata.name)
    const known = pool && staticPool(deps, pool)
    const surplus = known === undefined ? [] : surplusOf(deps, known, deleting)
    if (pool === undefined || surplus.length === 0) continue
    await fence.check()
    signal.throwIfAborted()
    const { replicas = 0 } = pool
    const names = surplus.map(({ metadata }) => metadata.name)
    deps.log.info({ nodePool: pool.metadata.name, replicas, nodeClaims: names }, 'scaling down a static nodepool')
    await forEachOf(surplus, concurrency, (claim) => remove(deps, pool, claim))
  }
}

/** Returns the NodeClaims to delete, by the cache at this moment. */
function surplusOf(deps: SurplusDeps, { pool, claims }: StaticPool, { pauses }: Deleting): readonly NodeClaim[] {
  const now = deps.now()
  const taken = claimsOfCommands(claims)
  const nodeOf = (claim: NodeClaim) => claimNode(deps, claim)?.metadata.name ?? ''
  const isPaused = (claim: NodeClaim) => {
    const target = { nodePool: pool.metadata.name, nodeClaim: claim.metadata.name, node: nodeOf(claim), reason }
    return pauses.covering(target) !== undefined
  }
  return surplusClaims(pool, countPool(pool, claims, markedClaims(claims)), {
    now,
    podsOf: (claim) => deps.cache.pods.by('byNode', nodeOf(claim)),
    isKept: (claim) => taken.has(claim) || holdOf(claim, now) !== undefined || isPaused(claim),
  })
}

/** Writes why a claim goes, for its history, and deletes it. */
async function remove(deps: SurplusDeps, { replicas = 0 }: NodePool, { metadata }: NodeClaim): Promise<void> {
  const { name, uid } = metadata
  const claim = await updateClaim(deps, { name, uid }, () => ({
    metadata: { annotations: { [annotations.scaledDownTo]: String(replicas) } },
  }))
  if (claim === undefined) return
  // One that is held since stays.
  const mayGo = async (live: NodeClaim) => holdOf(live, deps.now()) === undefined
  if ((await mayGo(claim)) && (await deleteClaim(deps, { name, uid }, { claim, mayGo })))
    countDisruption(deps, claim, reason)
}
