import type { MarkScope } from './azure-error.ts'

/** One way to buy one size, as marks speak of it. Zone `0` is regional. */
export interface OfferingId {
  readonly instanceType: string
  readonly family: string
  readonly vCpus: number
  readonly zone: string
  readonly capacityType: string
}

/** One refusal: the family's sizes from `minVCpus` up are unavailable in a zone (or `*`) for a capacity type (or `*`) until a time. */
export interface Mark {
  readonly family: string
  readonly instanceType: string
  readonly minVCpus: number
  readonly zone: string
  readonly capacityType: string
  readonly untilMs: number
  readonly reason: string
}

/** Whether a mark speaks of an offering: the refused size, and all of its family that are as large or larger (reference/azure-provider.md 3.8). */
export function covers(mark: Mark, { instanceType, family, vCpus, zone, capacityType }: OfferingId): boolean {
  if (mark.capacityType !== '*' && mark.capacityType !== capacityType) return false
  if (mark.zone !== '*' && mark.zone !== zone) return false
  if (mark.family === '*' || mark.instanceType === instanceType) return true
  return mark.family !== '' && mark.family.toLowerCase() === family.toLowerCase() && vCpus >= mark.minVCpus
}

/** A mark as it stands in the ConfigMap; undefined when the text is none, so that a damaged entry blocks nothing. */
export function parseMark(text: string): Mark | undefined {
  try {
    const mark = JSON.parse(text) as Partial<Mark> | null
    const whole =
      typeof mark?.untilMs === 'number' &&
      typeof mark.minVCpus === 'number' &&
      [mark.family, mark.instanceType, mark.zone, mark.capacityType].every((field) => typeof field === 'string')
    return whole ? (mark as Mark) : undefined
  } catch {
    return undefined
  }
}

/** The marks of a refusal, by their key in the ConfigMap. `zones`: all zone labels of the size, `0` included. */
export function marksFor(
  { instanceType, family, vCpus, zone, capacityType }: OfferingId,
  scope: MarkScope,
  { untilMs, reason, zones }: { readonly untilMs: number; readonly reason: string; readonly zones: readonly string[] },
): ReadonlyMap<string, Mark> {
  const placement = zone === '0' ? ['0'] : [...new Set([zone, ...zones.filter((other) => other !== '0')])]
  const table: Readonly<Record<MarkScope, readonly (readonly [string, string])[]>> = {
    allSpot: [['*', 'spot']],
    allZonesOfCapacityType: [['*', capacityType]],
    placementOfCapacityType: placement.map((other) => [other, capacityType] as const),
    zoneAllCapacityTypes: [[zone, '*']],
    placementAllCapacityTypes: placement.map((other) => [other, '*'] as const),
    zoneOfCapacityType: [[zone, capacityType]],
    nothing: [],
  }
  const everyFamily = scope === 'allSpot'
  return new Map(
    table[scope].map(([where, which]) => [
      `${everyFamily ? 'all' : instanceType}.${which === '*' ? 'any' : which}.${where === '*' ? 'any' : where}`,
      {
        family: everyFamily ? '*' : family,
        instanceType: everyFamily ? '*' : instanceType,
        minVCpus: vCpus,
        zone: where,
        capacityType: which,
        untilMs,
        reason,
      },
    ]),
  )
}
