import type { NodeClaim, NodePool } from '../../../core/objects.ts'
import { labels } from '../../../core/requirements/labels.ts'
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

/** Returns the static NodePools as the cache has them; none where their gate is off. Costs nothing where there is none. */
export function staticPools({ cache, staticCapacity }: StaticPoolsDeps): readonly StaticPool[] {
  if (!staticCapacity) return []
  const pools = [...cache.nodePools.values()].filter(({ isStatic }) => isStatic)
  if (pools.length === 0) return []
  const claims = Map.groupBy(cache.nodeClaims.values(), ({ metadata }) => metadata.labels[labels.nodePool])
  return pools.map((pool) => ({ pool, claims: claims.get(pool.metadata.name) ?? [] }))
}
