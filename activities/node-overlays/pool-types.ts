import { capacityTypeOf, type InstanceType, zoneOf } from '../../core/instance-type.ts'
import { kubeletConversion } from '../../core/node-class/kubelet-conversion.ts'
import { overlaidTypes, overlayAnnotations } from '../../core/node-overlay/apply-overlays.ts'
import {
  type EvaluatedOverlays,
  evaluateOverlays,
  overlayCondition,
} from '../../core/node-overlay/evaluate-overlays.ts'
import type { NodeClaim, NodeOverlay, NodePool } from '../../core/objects.ts'
import { labels, wellKnownLabels } from '../../core/requirements/labels.ts'
import type { PlannedNodeClaim } from '../../core/scheduling/snapshot.ts'
import type { Catalogue } from '../azure/catalogue/catalogue.ts'
import { isUnknownPrice } from '../azure/catalogue/pricing.ts'
import type { VmSize } from '../azure/catalogue/sku.ts'
import type { AzureParts } from '../azure/parts.ts'
import type { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import { perCache } from '../kubernetes/cache/per-cache.ts'
import { setConditions } from '../kubernetes/client/status-writes.ts'
import type { WriteDeps } from '../kubernetes/parts.ts'

/** The cache and the catalogue, which say what NodePools can buy. */
export type CatalogueOfPools = Pick<AzureParts, 'cache' | 'catalogue'>

type Types = readonly InstanceType[]
type TypesOfPools = ReadonlyMap<string, Types>

/**
 * Returns what each pool can buy now, with the prices and resources of NodeOverlays: the same arrays until something changes. Pools without a node
 * class take no part. Without the gate NodeOverlay no overlay is watched, and so none counts.
 */
export function instanceTypes(deps: CatalogueOfPools): TypesOfPools {
  const bought = withoutOverlays(deps)
  const { cache } = deps
  return cache.nodeOverlays.size === 0 ? bought : memoOf(deps).types(cache, bought)
}

/** Returns what NodeOverlays are worth against all NodePools. */
function judgedOverlays(deps: CatalogueOfPools): EvaluatedOverlays {
  return memoOf(deps).judge(deps.cache, withoutOverlays(deps))
}

/** Returns types that a NodeClaim may be launched as, with the overlays that count for its pool at this moment. */
export function typesForClaim(deps: CatalogueOfPools, { metadata }: NodeClaim, types: Types): Types {
  const { cache } = deps
  const pool = cache.nodePools.get(metadata.labels[labels.nodePool] ?? '')
  if (pool === undefined || cache.nodeOverlays.size === 0) return types
  return overlaidTypes(types, { pool: overlaidPool(pool), overlays: judgedOverlays(deps).valid }, wellKnownLabels)
}

/** Returns the annotations that a NodeClaim gets from the overlays of the types that it names; none for a static pool's. */
export function overlayAnnotationsOf(
  deps: CatalogueOfPools,
  { nodePool, instanceTypes: named }: Pick<PlannedNodeClaim, 'nodePool' | 'instanceTypes'>,
): Readonly<Record<string, string>> {
  if (deps.cache.nodeOverlays.size === 0) return {}
  const names = new Set(named)
  return overlayAnnotations((instanceTypes(deps).get(nodePool) ?? []).filter(({ name }) => names.has(name)))
}

function withoutOverlays({ cache, catalogue }: CatalogueOfPools): TypesOfPools {
  return new Map(
    [...cache.nodePools.values()].flatMap(({ metadata, template }) => {
      const nodeClass = cache.nodeClasses.get(template.spec.nodeClassRef.name)
      if (nodeClass === undefined) return []
      const types = catalogue.instanceTypesFor(nodeClass, kubeletConversion(metadata.annotations))
      return [[metadata.name, types] as const]
    }),
  )
}

function overlaidPool({ metadata, template }: NodePool) {
  return { name: metadata.name, labels: template.labels }
}

const memoOf = perCache(() => new OverlayMemo())

/** Keeps the last result: planners ask for types many times between two changes, and recognise unchanged lists by their identity. */
class OverlayMemo {
  #inputs: readonly unknown[] = []
  #judged: EvaluatedOverlays = { outcomes: new Map(), valid: [] }
  #types: TypesOfPools | undefined

  judge(cache: ClusterCache, bought: TypesOfPools): EvaluatedOverlays {
    const overlays = [...cache.nodeOverlays.values()].filter(isPresent)
    const pools = [...cache.nodePools.values()].filter(({ metadata }) => bought.has(metadata.name))
    const inputs = [
      ...overlays.flatMap(({ metadata }) => [metadata.uid, metadata.generation]),
      ...pools.flatMap(({ metadata, template }) => [metadata.name, template.labels, bought.get(metadata.name)]),
    ]
    if (inputs.length === this.#inputs.length && inputs.every((input, index) => input === this.#inputs[index]))
      return this.#judged
    this.#inputs = inputs
    this.#types = undefined
    this.#judged = evaluateOverlays(
      overlays,
      pools.map((pool) => ({ ...overlaidPool(pool), types: bought.get(pool.metadata.name) ?? [] })),
      wellKnownLabels,
    )
    return this.#judged
  }

  types(cache: ClusterCache, bought: TypesOfPools): TypesOfPools {
    const { valid: overlays } = this.judge(cache, bought)
    this.#types ??= new Map(
      [...bought].map(([name, types]) => {
        const pool = cache.nodePools.get(name)
        return [
          name,
          pool === undefined ? types : overlaidTypes(types, { pool: overlaidPool(pool), overlays }, wellKnownLabels),
        ]
      }),
    )
    return this.#types
  }
}

function isPresent({ metadata }: NodeOverlay): boolean {
  return metadata.deletionTimestamp === undefined
}

/** Writes into the conditions of each NodeOverlay whether it counts, and why not (reference/karpenter-core.md 1.3). Unchanged ones are not written. */
export async function refreshNodeOverlays(deps: WriteDeps & CatalogueOfPools): Promise<void> {
  const { cache } = deps
  if (cache.nodeOverlays.size === 0) return
  const { outcomes } = judgedOverlays(deps)
  for (const { metadata } of cache.nodeOverlays.values()) {
    const outcome = outcomes.get(metadata.name)
    if (outcome === undefined) continue
    await setConditions(deps, { kind: 'NodeOverlay', ref: metadata }, (current) =>
      current.metadata.generation === metadata.generation ? { conditions: [overlayCondition(outcome)] } : undefined,
    )
  }
}

interface Bought {
  readonly instanceType?: InstanceType | undefined
  readonly zone: string
  readonly capacityType: string
}

/** Annotations keep this many digits of a price; sums of percentages have more. */
const digits = 12

/** Returns what a launched VM costs in USD an hour: what a NodeOverlay says, else what the catalogue does. */
export function launchPrice(
  catalogue: Pick<Catalogue, 'price'>,
  { instanceType, zone, capacityType }: Bought,
  size: VmSize | undefined,
): ReturnType<Catalogue['price']> {
  const offering = instanceType?.offerings.find(
    (one) => one.isPriceOverlaid === true && zoneOf(one) === zone && capacityTypeOf(one) === capacityType,
  )
  if (offering !== undefined && !isUnknownPrice(offering.price))
    return { pricePerHour: Number(offering.price.toFixed(digits)) }
  return size === undefined ? {} : catalogue.price(size, capacityType)
}
