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
  /** Labels of its template. */
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
