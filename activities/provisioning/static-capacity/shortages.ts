import { compatibleOfferings, type InstanceType, isLaunchable } from '../../../core/instance-type.ts'
import { templateOf, templateRequirements } from '../../../core/node-pool/node-claim-template.ts'
import type { NodeClaim, NodePool } from '../../../core/objects.ts'
import { wellKnownLabels } from '../../../core/requirements/labels.ts'
import { isCompatible } from '../../../core/requirements/requirements.ts'
import { countPool, missingClaims } from '../../../core/static-capacity/pool-count.ts'
import { stampedClaims, staticClaim } from '../../../core/static-capacity/static-claim.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import type { Parts } from '../../kubernetes/parts.ts'
import { type CatalogueOfPools, instanceTypes } from '../../node-overlays/pool-types.ts'
import { type CreateClaimsDeps, createClaims, type ProvisioningOutcome } from '../create-claims.ts'
import type { Fence } from '../fence.ts'
import { readPool } from '../pool-limits.ts'
import { poolState } from '../refused-claims.ts'
import { staticMemoryOf } from './static-memory.ts'

export type ShortagesDeps = StaticPoolsDeps & CatalogueOfPools & Pick<Parts, 'events' | 'log' | 'now'>

export interface Shortages {
  /** Pools that lack NodeClaims which can be created now. */
  readonly pools: readonly NodePool[]
  /** When to look again although nothing changes, in epoch ms. */
  readonly retryAtMs: number
}

/** Time after which a pool for which nothing could be bought is looked at again. */
const retryMs = 10_000

/** Returns how many NodeClaims a pool lacks, as far as its limit allows. */
function lacking({ pool, claims }: StaticPool): number {
  return missingClaims(pool, countPool(pool, claims, stampedClaims(claims)))
}

/** Returns which static pools lack NodeClaims, by the cache at this moment. A pool without anything to buy is reported and waits. */
export function shortages(deps: ShortagesDeps): Shortages {
  const known = staticPools(deps)
  if (known.length === 0) return { pools: [], retryAtMs: Number.POSITIVE_INFINITY }
  const memory = staticMemoryOf(deps)
  let retryAtMs = Number.POSITIVE_INFINITY
  const pools = known.flatMap((one) => {
    const { pool } = one
    if (lacking(one) === 0) {
      reportLimit(deps, one)
      return []
    }
    if (memory.isResting(pool)) {
      retryAtMs = Math.min(retryAtMs, memory.restUntil())
      return []
    }
    if (isBuyable(deps, pool)) return [pool]
    retryAtMs = Math.min(retryAtMs, deps.now() + retryMs)
    return []
  })
  return { pools, retryAtMs }
}

/** Logs that the limit keeps a pool from its replicas, once for each state of the pool. */
function reportLimit(deps: ShortagesDeps, { pool, claims }: StaticPool): void {
  const { limits, replicas, metadata } = pool
  const { nodes: _, ...others } = limits
  if (limits['nodes'] === undefined || lacking({ pool: { ...pool, limits: others }, claims }) === 0) return
  if (!staticMemoryOf(deps).isNewlyAtLimit(pool)) return
  const remedy = 'spec.limits.nodes is lower than spec.replicas needs; raise it'
  deps.log.info({ nodePool: metadata.name, replicas, why: remedy }, 'nodepool node limit reached')
}

/** Whether Azure offers anything that the pool's template allows. */
function isBuyable(deps: ShortagesDeps, pool: NodePool): boolean {
  const types = instanceTypes(deps).get(pool.metadata.name) ?? []
  const wanted = templateRequirements(templateOf(pool))
  const fits = (type: InstanceType) =>
    isCompatible(wanted, type.requirements, wellKnownLabels) && compatibleOfferings(type, wanted).some(isLaunchable)
  if (types.some(fits)) return true
  // Nothing is known before sizes are loaded.
  if (types.length > 0)
    deps.events.record({
      about: subject(pool),
      reason: 'NoCompatibleInstanceTypes',
      message: 'NodePool requirements filtered out all compatible available instance types',
    })
  return false
}

export type StaticPoolsDeps = Pick<Parts, 'cache' | 'staticCapacity'>

/** A static NodePool with its NodeClaims. */
export interface StaticPool {
  readonly pool: NodePool
  readonly claims: readonly NodeClaim[]
}

/** Returns the static NodePools as the cache has them; none where their gate is off. */
export function staticPools(deps: StaticPoolsDeps): readonly StaticPool[] {
  return [...deps.cache.nodePools.values()].flatMap((pool) => staticPool(deps, pool) ?? [])
}

/** Returns a NodePool with its NodeClaims; undefined where it is not static, or the gate is off. */
export function staticPool({ cache, staticCapacity }: StaticPoolsDeps, pool: NodePool): StaticPool | undefined {
  if (!staticCapacity || !pool.isStatic) return undefined
  return { pool, claims: cache.nodeClaims.by('byNodePool', pool.metadata.name) }
}

/** Most NodeClaims of one pool that are created before pods are looked at again. */
const mostAtOnce = 100

/**
 * Creates the NodeClaims that static NodePools lack, as `createClaims` does. A crash in between is harmless: the next attempt counts what was created,
 * from a cache that has caught up. Returns undefined when nothing was created.
 */
export async function fillStaticPools(
  deps: ShortagesDeps & CreateClaimsDeps,
  fence: Fence,
): Promise<ProvisioningOutcome | undefined> {
  let hasCreated = false
  const memory = staticMemoryOf(deps)
  memory.isTurnOfPods = false
  for (const before of shortages(deps).pools) {
    const { metadata } = before
    // It may have been scaled a moment ago.
    const pool = await readPool(deps, metadata.name)
    // The watch will say so too.
    if (pool === undefined) memory.failed(before)
    const known = pool && staticPool(deps, pool)
    const all = known === undefined ? 0 : lacking(known)
    const missing = Math.min(all, mostAtOnce)
    if (pool === undefined || missing === 0) continue
    const { replicas = 0 } = pool
    deps.log.info({ nodePool: metadata.name, replicas, missing }, 'creating nodeclaims of a static nodepool')
    const plannedWith = poolState(deps.cache, metadata.name)
    const planned = Array.from({ length: missing }, () => ({
      ...staticClaim(pool),
      forReplicas: replicas,
      plannedWith,
    }))
    const created = await createClaims(deps, fence, planned).catch((error: unknown) => {
      // It goes before pods: without a rest these would wait for as long as its creations fail.
      memory.failed(pool)
      throw error
    })
    if (created.names.length > 0) hasCreated = true
    if (all > mostAtOnce) memory.isTurnOfPods = true
    if (created.kind === 'paused') return 'paused'
    if (created.names.length < missing) memory.failed(pool)
  }
  return hasCreated ? 'planned' : undefined
}
