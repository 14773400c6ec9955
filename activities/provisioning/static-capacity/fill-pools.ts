import { staticClaim } from '../../../core/static-capacity/static-claim.ts'
import { type CreateClaimsDeps, createClaims, type ProvisioningOutcome } from '../create-claims.ts'
import type { Fence } from '../fence.ts'
import { readPool } from '../pool-limits.ts'
import { lacking, type ShortagesDeps, shortages } from './shortages.ts'
import { staticMemoryOf } from './static-memory.ts'
import { staticPool } from './static-pools.ts'

export interface FillPoolsDeps extends ShortagesDeps, CreateClaimsDeps {}

/** Most NodeClaims of one pool that are created before pods are looked at again. */
const mostAtOnce = 100

/**
 * Creates the NodeClaims that static NodePools lack, as `createClaims` does. A crash in between is harmless: the next attempt counts what was created,
 * from a cache that has caught up. Returns undefined when nothing was created.
 */
export async function fillStaticPools(deps: FillPoolsDeps, fence: Fence): Promise<ProvisioningOutcome | undefined> {
  let hasCreated = false
  for (const before of shortages(deps).pools) {
    const { metadata } = before
    // It may have been scaled a moment ago.
    const pool = await readPool(deps, metadata.name)
    // The watch will say so too.
    if (pool === undefined) staticMemoryOf(deps).failed(before)
    const known = pool && staticPool(deps, pool)
    const missing = known === undefined ? 0 : Math.min(lacking(known), mostAtOnce)
    if (pool === undefined || missing === 0) continue
    const { replicas = 0 } = pool
    deps.log.info({ nodePool: metadata.name, replicas, missing }, 'creating nodeclaims of a static nodepool')
    const planned = Array.from({ length: missing }, () => ({ ...staticClaim(pool), forReplicas: replicas }))
    const created = await createClaims(deps, fence, planned)
    if (created.names.length > 0) hasCreated = true
    if (created.kind === 'paused') return 'paused'
    if (created.names.length < missing) staticMemoryOf(deps).failed(pool)
  }
  return hasCreated ? 'planned' : undefined
}
