// Refusals that another size, zone or family avoids, beside the capacity codes of azure-error.ts.
import type { Attempted, MarkScope, Refusal } from '../arm/azure-error.ts'
import { type FailureFacts, ruleFor } from '../arm/azure-failure-rules.ts'
import { causeOf } from '../refusals/refusal-signature.ts'
import type { RefusedSize } from './lasting-mark.ts'

export interface AttemptedLaunch extends Attempted {
  readonly image: string
  readonly nodeClass: string
  /** Whether Azure had accepted the VM, which then failed. */
  readonly wasAccepted?: true
  readonly nodeClaim?: string
  /** Of its class, as `launch-turn.ts` gave them. */
  readonly turn?: string
  readonly state?: string
}

/** A refusal that names what to avoid: a whole size, or offerings of it as the capacity codes do. */
export type Avoidable =
  | { readonly kind: 'size'; readonly size: RefusedSize; readonly remedy: string }
  | { readonly kind: 'offerings'; readonly refusal: Refusal }

const minute = 60_000
const hour = 60 * minute
/** For these something has to be changed or waited for that has nothing to do with the size, even where the text names it. */
const aboutTheSize: ReadonlySet<string> = new Set([
  'InvalidRequest',
  'SizeNotSupported',
  'PolicyDenied',
  'Conflict',
  'AzureError',
])

/**
 * Returns what a refusal names that another choice avoids. Undefined: it names nothing of the choice (reference/real-aks.md 1).
 */
export function avoidable(facts: FailureFacts, attempted: AttemptedLaunch): Avoidable | undefined {
  if (isQuota(facts)) return { kind: 'offerings', refusal: quotaRefusal(facts.text, attempted) }
  if (!aboutTheSize.has(ruleFor(facts).reason)) return undefined
  const cause = causeOf(facts)
  const size = (reason: string, use: 'image' | 'nodeClass' | 'any', remedy: string): Avoidable => {
    const { instanceType, image, nodeClass } = attempted
    const limits = { image: { image }, nodeClass: { nodeClass }, any: {} }[use]
    return { kind: 'size', size: { instanceType, ...limits, reason, cause }, remedy: `${instanceType} ${remedy}` }
  }
  if (cannotBoot.test(facts.text))
    return size('SizeCannotBootImage', 'image', 'cannot boot the node image; another size is chosen')
  if (facts.code === 'HyperVGenerationMismatch')
    return size(
      'SizeCannotBootImage',
      'image',
      "does not support the image's Hyper-V generation; another size is chosen",
    )
  if (facts.code === 'VMSizeDoesntSupportPremiumStorage')
    return size(
      'SizeLacksFeature',
      'nodeClass',
      `has no premium disks, which AKSNodeClass ${attempted.nodeClass} asks for; another size is chosen`,
    )
  const zone = zoneRefusal(facts.text, attempted)
  if (zone !== undefined) return { kind: 'offerings', refusal: zone }
  if (ruleFor(facts).reason === 'SizeNotSupported')
    return size('SizeNotSupported', 'any', 'is not offered to this subscription here; another size is chosen')
  if (!namesSize(facts.text, attempted)) return undefined
  if (ruleFor(facts).reason === 'PolicyDenied')
    return size('SizeForbiddenByPolicy', 'any', 'is forbidden by an Azure policy; another size is chosen')
  // Azure names what it refuses: where that is another field, the size is not the cause, though the text may name it.
  if (!isTargetSize(facts.target)) return undefined
  return size('SizeRefused', 'nodeClass', 'is refused by Azure; another size is chosen')
}

const isTargetSize = (target = '') => target === '' || /(^|[./])(vmSize|size|sku(\.name)?)$/i.test(target)

const cannotBoot = /cannot boot with (the )?OS image|disk controller types? supported/i
function namesSize(text: string, { instanceType }: Attempted): boolean {
  const escaped = instanceType.replaceAll(/[^\w]/g, (char) => `\\${char}`)
  return new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`, 'i').test(text)
}

/** Azure names zones by number, such as "The zone(s) '3' for resource ... is not supported". */
function zoneRefusal(text: string, attempted: Attempted): Refusal | undefined {
  const number = /(?:^|-)(\d+)$/.exec(attempted.zone)?.[1]
  const named = /zone(?:\(s\)|s)? ['"]?(\d+)['"]?/i.exec(text)?.[1]
  if (number === undefined || named !== number) return undefined
  return {
    reason: 'ZoneNotSupported',
    scope: 'zoneAllCapacityTypes',
    ttlMs: hour,
    remedy: `${attempted.instanceType} is not offered in zone ${attempted.zone}; another zone is tried`,
  }
}

const isQuota = ({ code, text }: FailureFacts) =>
  code === 'QuotaExceeded' || (code === 'OperationNotAllowed' && /\bquota\b/i.test(text))

/** The quotas that azure-error.ts does not know: by category, by code, or in other words. */
function quotaRefusal(text: string, { instanceType, capacityType }: Attempted): Refusal {
  const [scope, what, ttlMs]: readonly [MarkScope, string, number] = /LowPriority|\bspot\b/i.test(text)
    ? ['allSpot', 'spot vCPU quota', hour]
    : /regional cores/i.test(text)
      ? ['nothing', 'total regional vCPU quota', 0]
      : [
          'allZonesOfCapacityType',
          `${capacityType} vCPU quota for the family or category of ${instanceType}`,
          10 * minute,
        ]
  return {
    reason: scope === 'nothing' ? 'InsufficientCapacity' : 'SubscriptionQuotaReached',
    scope,
    ttlMs,
    remedy: `the subscription's ${what} is used up; see "az quota usage list" and ask for more at https://aka.ms/ProdportalCRP`,
  }
}
