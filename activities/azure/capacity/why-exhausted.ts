import { capacityTypeOf, type InstanceType, zoneOf } from '../../../core/instance-type.ts'
import { wellKnownLabels } from '../../../core/requirements/labels.ts'
import { isCompatible } from '../../../core/requirements/requirements.ts'
import { fittingTypes } from '../refusals/price-bound.ts'
import type { Wanted } from './choose-offering.ts'
import type { Mark, OfferingId } from './mark.ts'
import { type Demand, type Shortage, shortageText } from './quota-accounting.ts'

const shownAtMost = 3
interface Obstacles {
  readonly sizeOf: (instanceType: string) => { readonly family: string; readonly vCpus: number } | undefined
  readonly markOf: (offering: OfferingId) => Mark | undefined
  readonly shortagesOf: (demand: Demand) => readonly Shortage[]
}

/** Explains why a claim has no offering left: the marks and quotas that block the offerings it allows. */
export function whyExhausted(types: readonly InstanceType[], claim: Wanted, obstacles: Obstacles): string {
  const fitting = fittingTypes(types, claim)
  const marks = new Map<string, { offerings: number; untilMs: number }>()
  const shortages = new Map<string, Shortage>()
  let offered = 0
  for (const type of fitting) {
    const size = obstacles.sizeOf(type.name)
    if (size === undefined) continue
    for (const offering of type.offerings) {
      if (!isCompatible(claim.requirements, offering.requirements, wellKnownLabels)) continue
      offered += 1
      const capacityType = capacityTypeOf(offering)
      const mark = obstacles.markOf({ instanceType: type.name, ...size, zone: zoneOf(offering), capacityType })
      if (mark !== undefined) {
        const known = marks.get(mark.reason) ?? { offerings: 0, untilMs: mark.untilMs }
        marks.set(mark.reason, {
          offerings: known.offerings + 1,
          untilMs: Math.min(known.untilMs, mark.untilMs),
        })
      }
      for (const shortage of obstacles.shortagesOf({ ...size, capacityType }))
        if (shortage.needed < (shortages.get(shortage.pool)?.needed ?? Number.POSITIVE_INFINITY))
          shortages.set(shortage.pool, shortage)
    }
  }
  if (offered === 0) return 'all requested instance types were unavailable during launch: none of the region fits'
  return [
    `all requested instance types were unavailable during launch: ${fitting.length} fit, in ${offered} offerings`,
    ...[...marks].map(
      ([reason, { offerings, untilMs }]) =>
        `${offerings} are marked ${reason}, the first until ${new Date(untilMs).toISOString().slice(0, 19)}Z (see "joiner capacity list")`,
    ),
    ...[...shortages.values()].slice(0, shownAtMost).map(shortageText),
    ...(shortages.size > shownAtMost ? [`${shortages.size - shownAtMost} more quotas (see "joiner quota")`] : []),
  ].join('; ')
}
