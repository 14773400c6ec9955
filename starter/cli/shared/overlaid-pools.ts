// NodeOverlays where a cluster is planned for outside of Joiner.
import type { InstanceType } from '../../../core/instance-type.ts'
import { overlaidTypes } from '../../../core/node-overlay/apply-overlays.ts'
import { evaluateOverlays } from '../../../core/node-overlay/evaluate-overlays.ts'
import type { NodeOverlay, NodePool } from '../../../core/objects.ts'

type TypesOfPools = ReadonlyMap<string, readonly InstanceType[]>

/** What the NodePools of a cluster can buy. */
export interface OfferedTypes {
  readonly nodePools: readonly NodePool[]
  readonly instanceTypes: TypesOfPools
  readonly wellKnownLabels: ReadonlySet<string>
}

/**
 * Returns the types of each NodePool with the prices and resources of NodeOverlays, as planning in the cluster has them, and which overlays do not
 * count and why.
 */
export function overlaidPools(
  overlays: readonly NodeOverlay[],
  { nodePools, instanceTypes, wellKnownLabels }: OfferedTypes,
): { readonly instanceTypes: TypesOfPools; readonly remarks: readonly string[] } {
  const present = overlays.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  if (present.length === 0) return { instanceTypes, remarks: [] }
  const pools = nodePools.map(({ metadata: { name }, template: { labels } }) => {
    return { name, labels, types: instanceTypes.get(name) ?? [] }
  })
  const { outcomes, valid } = evaluateOverlays(present, pools, wellKnownLabels)
  const remarks = [...outcomes].flatMap(([name, outcome]) => {
    if (outcome.kind === 'valid') return []
    const why =
      outcome.kind === 'invalid' ? outcome.message : 'another of its weight changes the same; give one another weight'
    return [`NodeOverlay "${name}" does not count: ${why}`]
  })
  const overlaid = pools.map(
    (pool) => [pool.name, overlaidTypes(pool.types, { pool, overlays: valid }, wellKnownLabels)] as const,
  )
  return { instanceTypes: new Map([...instanceTypes, ...overlaid]), remarks }
}
