import { leftOutAnnotation } from '../../../core/node-claim/left-out.ts'
import type { PlannedNodeClaim } from '../../../core/scheduling/snapshot.ts'
import { type CatalogueOfPools, instanceTypes } from '../../node-overlays/pool-types.ts'
import type { AzureParts } from '../parts.ts'
import { fittingTypes } from './price-bound.ts'

export type LeftOutSizesDeps = CatalogueOfPools & Pick<AzureParts, 'unavailable'>

/** Returns the annotation that names sizes which a planned NodeClaim leaves out. */
export const leftOutAnnotationOf = (deps: LeftOutSizesDeps, planned: PlannedNodeClaim) =>
  leftOutAnnotation(leftOutSizes(deps, planned))

/**
 * Returns the sizes that a planned NodeClaim could have been and that it does not name, since Azure refused them: the cheapest first. Its launch counts the
 * price of a fallback from them.
 */
function leftOutSizes(
  deps: LeftOutSizesDeps,
  { nodePool, wanted, requests, instanceTypes: named }: PlannedNodeClaim,
): readonly string[] {
  const refused = new Set<string>()
  for (const mark of deps.unavailable.marks.values())
    if (mark.kind === 'size' || mark.kind === 'offering') refused.add(mark.instanceType)
  for (const name of named) refused.delete(name)
  if (refused.size === 0) return []
  const types = (instanceTypes(deps).get(nodePool) ?? []).filter(({ name }) => refused.has(name))
  const found = fittingTypes(types, { requirements: wanted, requests }).map(({ name, offerings }) => ({
    name,
    price: Math.min(...offerings.map(({ price }) => price)),
  }))
  return found.sort((a, b) => a.price - b.price).map(({ name }) => name)
}
