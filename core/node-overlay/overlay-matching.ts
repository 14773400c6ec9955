import type { InstanceType, Offering } from '../instance-type.ts'
import type { NodeOverlay } from '../objects.ts'
import { labels } from '../requirements/labels.ts'
import {
  isCompatible,
  merge,
  type Requirements,
  requirements,
  requirementsOfLabels,
} from '../requirements/requirements.ts'

/** What overlays see of a NodePool. */
export interface OverlaidPool {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

/** An overlay with its requirements as sets. */
export interface ReadyOverlay {
  readonly overlay: NodeOverlay
  readonly wanted: Requirements
}

export function readyOverlay(overlay: NodeOverlay): ReadyOverlay {
  return { overlay, wanted: requirements(overlay.requirements) }
}

/** Returns the requirements that every node of a pool meets by its labels. */
export function poolRequirements({ name, labels: own }: OverlaidPool): Requirements {
  return requirementsOfLabels({ ...own, [labels.nodePool]: name })
}

/**
 * Returns the offerings of a type that an overlay selects; undefined: it does not select the type at all (reference/karpenter-core.md 3.17). A type
 * is selected by the labels of pool and type, of which none may be missing, and by having an offering that meets the rest.
 */
export function selectedOfferings(
  type: InstanceType,
  { pool, wanted }: { readonly pool: Requirements; readonly wanted: Requirements },
  wellKnown: ReadonlySet<string>,
): ReadonlySet<Offering> | undefined {
  if (!isCompatible(merge(pool, type.requirements.values()), wanted)) return undefined
  const selected = type.offerings.filter((offering) => isCompatible(wanted, offering.requirements, wellKnown))
  return selected.length === 0 ? undefined : new Set(selected)
}

/** Returns whether an overlay changes prices. */
export function changesPrice({ price, priceAdjustment }: NodeOverlay): boolean {
  return price !== undefined || priceAdjustment !== undefined
}

/** Returns an offering's price under an overlay, in USD an hour: at least 0 (reference/karpenter-core.md 3.17). A text that is no number changes nothing. */
export function overlaidPrice(price: number, overlay: NodeOverlay): number {
  const { price: fixed, priceAdjustment: adjustment } = overlay
  if (fixed !== undefined) return numberOr(fixed, price)
  if (adjustment === undefined) return price
  const changed = adjustment.endsWith('%')
    ? price * (1 + numberOr(adjustment.slice(0, -1), 0) / 100)
    : price + numberOr(adjustment, 0)
  return Math.max(0, changed)
}

function numberOr(text: string, otherwise: number): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) ? value : otherwise
}
