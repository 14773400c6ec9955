import { cheapestPrice, type InstanceType, minValues } from '../../core/instance-type.ts'
import { claimLabels } from '../../core/node-pool/node-claim-template.ts'
import type { Pod } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import { inValues } from '../../core/requirements/requirement.ts'
import { merge, type Requirements, serializeAll } from '../../core/requirements/requirements.ts'
import type { PlannedNodeClaim } from '../../core/scheduling/snapshot.ts'
import type { UnschedulableCause } from '../../core/scheduling/unschedulable.ts'
import { claimRequirements, orderByPrice } from './claim-requirements.ts'
import type { PlainClaim } from './open-claim.ts'

export interface FinishingSettings {
  readonly maxInstanceTypes: number
  readonly relaxMinValues: boolean
  readonly reservationIdLabel: string
  readonly wellKnown: ReadonlySet<string>
}

export type FinishedClaim =
  | { readonly kind: 'claim'; readonly claim: PlannedNodeClaim }
  | { readonly kind: 'error'; readonly cause: UnschedulableCause }

/** The NodeClaim that a claim in the making becomes, or why it cannot be one (reference/karpenter-core.md 3.12-3.14). */
export function finished(
  open: PlainClaim,
  pods: readonly Pod[],
  reserved: ReadonlySet<string>,
  settings: FinishingSettings,
): FinishedClaim {
  const { wellKnown, maxInstanceTypes } = settings
  const wanted = settled(open.now.requirements, reserved, settings)
  const byName = [...open.now.types].sort((a, b) => (a.name < b.name ? -1 : 1))
  const types = orderByPrice(byName, wanted, wellKnown).slice(0, maxInstanceTypes)
  const short = settings.relaxMinValues ? [] : [...minValues(types, wanted).unsatisfied.keys()].sort()
  if (short.length > 0)
    return {
      kind: 'error',
      cause: { kind: 'min-values-cut', nodePool: open.pool.template.nodePool, labels: short },
    }
  const requirements = claimRequirements(wanted, types, wellKnown)
  return {
    kind: 'claim',
    claim: {
      nodePool: open.pool.template.nodePool,
      requirements: serializeAll(requirements),
      wanted,
      labels: claimLabels(open.pool.template, wanted),
      instanceTypes: types.map(({ name }) => name),
      requests: open.requestsWithDaemons,
      pods,
      price: lowestPrice(types, requirements, wellKnown),
      ...(open.pool.minValuesRelaxed ? { minValuesRelaxed: true } : {}),
    },
  }
}

/** Without the hostname that was made up, and bound to its reservations if it has any. */
function settled(
  planned: Requirements,
  reserved: ReadonlySet<string>,
  { reservationIdLabel }: FinishingSettings,
): Requirements {
  const wanted = new Map([...planned].filter(([key]) => key !== labels.hostname))
  if (reserved.size === 0) return wanted
  wanted.set(labels.capacityType, inValues(labels.capacityType, ['reserved']))
  return merge(wanted, [inValues(reservationIdLabel, reserved)])
}

function lowestPrice(types: readonly InstanceType[], wanted: Requirements, wellKnown: ReadonlySet<string>): number {
  const prices = types.flatMap((type) => cheapestPrice(type, wanted, wellKnown) ?? [])
  return prices.length === 0 ? 0 : Math.min(...prices)
}
