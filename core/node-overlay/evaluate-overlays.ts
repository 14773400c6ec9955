import type { ConditionChange } from '../conditions.ts'
import type { InstanceType, Offering } from '../instance-type.ts'
import type { NodeOverlay } from '../objects.ts'
import { requirementErrors } from '../requirements/requirement-rules.ts'
import {
  changesPrice,
  type OverlaidPool,
  poolRequirements,
  type ReadyOverlay,
  readyOverlay,
  selectedOfferings,
} from './overlay-matching.ts'

/** What an overlay's conditions say. */
export type OverlayOutcome =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid'; readonly message: string }
  /** An overlay of the same weight changes the same price or resource. */
  | { readonly kind: 'conflict' }

export interface EvaluatedOverlays {
  /** By the overlay's name. */
  readonly outcomes: ReadonlyMap<string, OverlayOutcome>
  /** Those that count, the heaviest first. */
  readonly valid: readonly ReadyOverlay[]
}

/** A NodePool with the types that it can buy from. */
export interface PoolTypes extends OverlaidPool {
  readonly types: readonly InstanceType[]
}

/**
 * Judges all overlays against all NodePools (reference/karpenter-core.md 3.17). The heaviest come first, and of the same weight the last by name. An
 * overlay that changes what an earlier one of its weight changes is left out everywhere.
 */
export function evaluateOverlays(
  overlays: readonly NodeOverlay[],
  pools: readonly PoolTypes[],
  wellKnown: ReadonlySet<string>,
): EvaluatedOverlays {
  const outcomes = new Map<string, OverlayOutcome>()
  const valid: ReadyOverlay[] = []
  let changed = new Changes()
  let weight: number | undefined
  const seen = pools.map((pool) => ({ pool, set: poolRequirements(pool) }))
  for (const overlay of [...overlays].sort(heaviestFirst)) {
    const errors = overlayErrors(overlay, wellKnown)
    if (errors.length > 0) {
      outcomes.set(overlay.metadata.name, { kind: 'invalid', message: errors.join('; ') })
      continue
    }
    // Only overlays of one weight conflict.
    if (overlay.weight !== weight) changed = new Changes()
    weight = overlay.weight
    const ready = readyOverlay(overlay)
    const own = seen.flatMap(({ pool, set }) =>
      pool.types.flatMap((type) => {
        const selected = selectedOfferings(type, { pool: set, wanted: ready.wanted }, wellKnown)
        return selected === undefined ? [] : [{ pool: pool.name, type, selected }]
      }),
    )
    if (own.some((one) => changed.include(one, overlay))) {
      outcomes.set(overlay.metadata.name, { kind: 'conflict' })
      continue
    }
    for (const one of own) changed.add(one, overlay)
    outcomes.set(overlay.metadata.name, { kind: 'valid' })
    valid.push(ready)
  }
  return { outcomes, valid }
}

function heaviestFirst(a: NodeOverlay, b: NodeOverlay): number {
  if (a.weight !== b.weight) return b.weight - a.weight
  return a.metadata.name < b.metadata.name ? 1 : -1
}

interface Selected {
  readonly pool: string
  readonly type: InstanceType
  readonly selected: ReadonlySet<Offering>
}

/** Prices and resources that overlays of one weight change. */
class Changes {
  readonly #prices = new Map<string, Set<Offering>>()
  readonly #resources = new Map<string, Map<InstanceType, Set<string>>>()

  include({ pool, type, selected }: Selected, overlay: NodeOverlay): boolean {
    const prices = this.#prices.get(pool)
    if (changesPrice(overlay) && prices !== undefined && !prices.isDisjointFrom(selected)) return true
    const resources = this.#resources.get(pool)?.get(type)
    return resources !== undefined && Object.keys(overlay.capacity).some((name) => resources.has(name))
  }

  add({ pool, type, selected }: Selected, overlay: NodeOverlay): void {
    if (changesPrice(overlay)) {
      const prices = this.#prices.get(pool) ?? new Set<Offering>()
      for (const offering of selected) prices.add(offering)
      this.#prices.set(pool, prices)
    }
    const names = Object.keys(overlay.capacity)
    if (names.length === 0) return
    const types = this.#resources.get(pool) ?? new Map<InstanceType, Set<string>>()
    // As upstream: only the latest overlay of resources counts, so one with other resources in between hides a conflict. The first still wins.
    types.set(type, new Set(names))
    this.#resources.set(pool, types)
  }
}

/** Resources of the machine itself, which no overlay can change. */
const ownResources: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage', 'pods'])

/** Returns the errors of an overlay that the API server's schema lets pass, in upstream's words (reference/karpenter-core.md 1.3). */
export function overlayErrors(overlay: NodeOverlay, wellKnown: ReadonlySet<string>): readonly string[] {
  return [
    ...overlay.requirements.flatMap((entry) => {
      const errors = requirementErrors(entry, wellKnown)
      const { key, operator, values = [] } = entry
      return [
        ...(errors.length === 0 ? [] : [`invalid value: ${errors.join('; ')} in requirements, restricted`]),
        // As In without values; in a NodePool, NotIn without values excludes nothing and is accepted.
        ...(operator === 'NotIn' && values.length === 0
          ? [`key ${key} with operator ${operator} must have a value defined`]
          : []),
      ]
    }),
    ...Object.keys(overlay.capacity)
      .filter((name) => ownResources.has(name))
      .map((name) => `invalid capacity: ${name} in resource, restricted`),
  ]
}

/** Returns the condition with an overlay's outcome (reference/karpenter-core.md 1.3). */
export function overlayCondition(outcome: OverlayOutcome): ConditionChange {
  const type = 'ValidationSucceeded'
  switch (outcome.kind) {
    case 'valid':
      return { type, status: 'True' }
    case 'invalid':
      return { type, status: 'False', reason: 'RuntimeValidation', message: outcome.message }
    case 'conflict':
      return { type, status: 'False', reason: 'Conflict', message: 'conflict with another overlay' }
  }
}
