import type { InstanceType } from '../../core/instance-type.ts'
import type { NodePool } from '../../core/objects.ts'
import type { Requirements } from '../../core/requirements/requirements.ts'
import { allBits } from '../../core/scheduling/offerings/bits.ts'
import type { PoolFacts } from '../../core/scheduling/offerings/pool-facts.ts'
import { PoolIndex } from '../../core/scheduling/offerings/pool-index.ts'
import type { Prices } from '../../core/scheduling/offerings/price-list.ts'
import type { SchedulingOptions } from '../../core/scheduling/snapshot.ts'
import { emptyClaim } from '../../core/scheduling/solver/places.ts'
import type { Finished } from '../../core/scheduling/solver/planned-claims.ts'
import { SolverBase } from '../../core/scheduling/solver/solver-base.ts'

interface PlannedClaim {
  /** The types in the planner's order: by name. `prices` counts them so. */
  readonly types: readonly InstanceType[]
  readonly prices: Prices
  /** The NodeClaim that the planner makes, or why it makes none. */
  readonly finished: Finished
}

/** Returns what the planner makes of a pool's claim that may become each of the types. `wanted` replaces the pool's own requirements. */
export function plannedClaim(
  nodePool: NodePool,
  instanceTypes: readonly InstanceType[],
  { wanted, ...options }: SchedulingOptions & { readonly wanted?: Requirements } = {},
): PlannedClaim {
  const nodePools = [{ nodePool, instanceTypes, usage: {} }]
  const { pools, sets, finisher } = new SolverBase({ pods: [], nodes: [], nodePools, daemonSets: [] }, options)
  const facts = pools[0] as PoolFacts
  const { types, prices } = facts.index
  const requests = new Float64Array(facts.amounts.size)
  const place = { hostname: '', host: 0, taintList: 0, requests, types: allBits(types.length), apart: undefined }
  const claim = emptyClaim(new PoolIndex(facts), place)
  if (wanted !== undefined) claim.set = sets.intern(wanted)
  return { types, prices: prices.pricesFor(claim.set), finished: finisher.finish(claim) }
}
