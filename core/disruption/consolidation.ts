import { minValues } from '../instance-type.ts'
import { labels } from '../requirements/labels.ts'
import type { PlannedNodeClaim, SchedulingPlan } from '../scheduling/snapshot.ts'
import type { Candidate } from './candidates.ts'
import {
  allowsCapacityType,
  asSpot,
  below,
  finished,
  type Market,
  type Replacement,
  replacementOf,
  sold,
} from './replacement.ts'
import { type Simulator, withoutPlace } from './simulation.ts'
import type { Hindrance } from './verdicts/cause.ts'

/** Cheaper types that a spot node needs before another spot node replaces it, and how many of them are requested. */
const spotToSpotTypes = 15

export interface ConsolidationSettings extends Market {
  readonly spotToSpot: boolean
}

/** Outcome for nodes together: they go, one cheaper node replaces them, or nothing can be done. */
export type Consolidation =
  | { readonly kind: 'delete'; readonly plan: SchedulingPlan }
  | { readonly kind: 'replace'; readonly plan: SchedulingPlan; readonly replacement: Replacement }
  | Hindered

interface Hindered {
  readonly kind: 'none'
  readonly cause: Hindrance
}

const hindered = (cause: Hindrance): Hindered => ({ kind: 'none', cause })

/** Whether the nodes can go, possibly with one cheaper node in their place (reference/karpenter-core.md 4.7). */
export function consolidate(
  candidates: readonly Candidate[],
  simulator: Simulator,
  settings: ConsolidationSettings,
): Consolidation {
  // For one node, the number of replacements is reported. For several nodes, it is enough to know that more than one is needed.
  const { plan, problems } = simulator.without(candidates, {
    isConsolidation: true,
    ...(candidates.length > 1 ? { maxNewClaims: 1 } : {}),
  })
  if (problems.length > 0) return hindered(withoutPlace(problems))
  const { newNodeClaims } = plan
  const [claim] = newNodeClaims
  if (claim === undefined && !plan.stopped) return { kind: 'delete', plan }
  if (claim === undefined || newNodeClaims.length > 1 || plan.stopped)
    return hindered({ kind: 'several-new-nodes', count: newNodeClaims.length })
  const fitted = cheaper(claim, candidates, settings)
  return fitted.kind === 'none' ? fitted : { kind: 'replace', plan, replacement: fitted.replacement }
}

type Fitted = { readonly kind: 'fits'; readonly replacement: Replacement } | Hindered

function cheaper(claim: PlannedNodeClaim, candidates: readonly Candidate[], settings: ConsolidationSettings): Fitted {
  const replacement = replacementOf(claim, settings)
  const price = candidates.reduce((sum, one) => sum + one.price, 0)
  const allSpot = candidates.every(({ node }) => node.metadata.labels[labels.capacityType] === 'spot')
  if (allSpot && allowsCapacityType(replacement, 'spot'))
    return spotToSpot(replacement, { price, isSingle: candidates.length === 1 }, settings)
  const fitted = within(replacement, price, settings)
  if (fitted.kind === 'none') return fitted
  // Savings on spot need not be savings on demand: the launch must fail rather than cost more.
  const isOpen = allowsCapacityType(fitted.replacement, 'spot') && allowsCapacityType(fitted.replacement, 'on-demand')
  return isOpen ? { kind: 'fits', replacement: asSpot(fitted.replacement) } : fitted
}

function within(replacement: Replacement, price: number, market: Market): Fitted {
  const priced = below(replacement, price, market)
  if (priced.kind === 'short') return hindered({ kind: 'min-values', labels: priced.labels })
  if (priced.replacement.types.length === 0) return hindered({ kind: 'nothing-cheaper' })
  return { kind: 'fits', replacement: priced.replacement }
}

/**
 * A single spot node is replaced by spot only where there are many cheaper types, and the cheapest of them are requested. Otherwise slightly cheaper
 * nodes would replace the cloud's choice again and again.
 */
function spotToSpot(
  replacement: Replacement,
  { price, isSingle }: { readonly price: number; readonly isSingle: boolean },
  settings: ConsolidationSettings,
): Fitted {
  if (!settings.spotToSpot) return hindered({ kind: 'spot-to-spot-disabled' })
  const fitted = within(sold(asSpot(replacement), settings), price, settings)
  if (fitted.kind === 'none' || !isSingle) return fitted
  const { types, wanted } = fitted.replacement
  if (types.length < spotToSpotTypes)
    return hindered({ kind: 'few-spot-types', needed: spotToSpotTypes, found: types.length })
  const most = Math.max(spotToSpotTypes, minValues(types, wanted).needed)
  return { kind: 'fits', replacement: { ...fitted.replacement, types: types.slice(0, most) } }
}

/** Returns the replacements of a consolidation as NodeClaims to create. */
export function replacementsOf(consolidation: Consolidation, market: Market): readonly PlannedNodeClaim[] {
  return consolidation.kind === 'replace' ? [finished(consolidation.replacement, market)] : []
}
