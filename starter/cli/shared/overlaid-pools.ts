// NodeOverlays where a cluster is planned for outside of Joiner.
import type { InstanceType } from '../../../core/instance-type.ts'
import { overlaidTypes } from '../../../core/node-overlay/apply-overlays.ts'
import { evaluateOverlays, type PoolTypes } from '../../../core/node-overlay/evaluate-overlays.ts'
import type { NodeOverlay } from '../../../core/objects.ts'

/**
 * Returns the types of each NodePool with the prices and resources of NodeOverlays, as planning in the cluster has them, and which overlays do not
 * count and why.
 */
export function overlaidPools(
  overlays: readonly NodeOverlay[],
  pools: readonly PoolTypes[],
  wellKnownLabels: ReadonlySet<string>,
): { readonly instanceTypes: ReadonlyMap<string, readonly InstanceType[]>; readonly remarks: readonly string[] } {
  const present = overlays.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const { outcomes, valid } = evaluateOverlays(present, pools, wellKnownLabels)
  const remarks = [...outcomes].flatMap(([name, outcome]) => {
    if (outcome.kind === 'valid') return []
    const why =
      outcome.kind === 'invalid' ? outcome.message : 'another of its weight changes the same; give one another weight'
    return [`NodeOverlay "${name}" does not count: ${why}`]
  })
  const overlaid = pools.map((pool) => {
    const types =
      valid.length === 0 ? pool.types : overlaidTypes(pool.types, { pool, overlays: valid }, wellKnownLabels)
    return [pool.name, types] as const
  })
  return { instanceTypes: new Map(overlaid), remarks }
}
