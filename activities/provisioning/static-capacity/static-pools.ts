import type { NodeClaim, NodePool } from '../../../core/objects.ts'
import type { ClusterCache } from '../../kubernetes/cache/cluster-cache.ts'

export interface StaticPoolsDeps {
  readonly cache: ClusterCache
  /** Whether static NodePools keep their replicas (feature gate StaticCapacity). */
  readonly staticCapacity: boolean
}

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
