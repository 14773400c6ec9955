import type { Logger } from 'pino'
import { compatibleOfferings, type InstanceType, isLaunchable } from '../../../core/instance-type.ts'
import { templateRequirements } from '../../../core/node-pool/node-claim-template.ts'
import type { NodePool } from '../../../core/objects.ts'
import { wellKnownLabels } from '../../../core/requirements/labels.ts'
import { isCompatible } from '../../../core/requirements/requirements.ts'
import { missingClaims } from '../../../core/static-capacity/missing-claims.ts'
import { countPool } from '../../../core/static-capacity/pool-count.ts'
import { templateOf } from '../../../core/static-capacity/static-claim.ts'
import { stampedClaims } from '../../../core/static-capacity/static-marks.ts'
import { type EventRecorder, subject } from '../../kubernetes/event-recorder.ts'
import { type CatalogueOfPools, instanceTypes } from '../../node-overlays/pool-types.ts'
import { staticMemoryOf } from './static-memory.ts'
import { type StaticPool, type StaticPoolsDeps, staticPools } from './static-pools.ts'

export interface ShortagesDeps extends StaticPoolsDeps, CatalogueOfPools {
  readonly events: EventRecorder
  readonly log: Logger
  /** Epoch milliseconds. */
  readonly now: () => number
}

export interface Shortages {
  /** Pools that lack NodeClaims which can be created now. */
  readonly pools: readonly NodePool[]
  /** When to look again although nothing changes, in epoch ms. */
  readonly retryAtMs: number
}

/** Time after which a pool for which nothing could be bought is looked at again. */
const retryMs = 10_000

/** Returns how many NodeClaims a pool lacks, as far as its limit allows. */
export function lacking({ pool, claims }: StaticPool): number {
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
